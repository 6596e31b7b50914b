/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/output/outfile.h"
#include "cli/cmd.h"
#include "cli/pids.h"
#include "cli/screen.h"
#include "cli/stat/sacct.h"
#include "cli/stat/scale.h"
#include "cli/stat/scale_files.h"
#include "usage/attached_metrics.h"
#include "usage/job_metrics.h"
#include "usage/jobstat.h"
#include "view/tables/stat_table.h"

struct args {
	uint64_t runs; /* 0: not given */
	const char *vs, *output, *scale, *profiles, *sacct;
	bool is_pinned, is_all;
	struct opt_list pids;
	double seconds; /* 0: not given */
	int format;     /* enum emit_format */
};

static const struct opt opts[] = {
	OPT_UINT('r', "runs", "N", struct args, runs, 1, 100000,
		 "Run CMD N times, and show median, least and most [default 1; 3 with --scale]"),
	OPT_STR(0, "vs", "CMD2", struct args, vs,
		"Run this line of sh by turns with CMD, and compare"),
	OPT_LIST('p', "pid", "PID,...", struct args, pids,
		 "Measure these running processes until they end or Ctrl-C; again for more"),
	OPT_FLAG('a', "all", struct args, is_all, "Measure the whole machine until Ctrl-C"),
	OPT_REAL('d', "duration", "SECONDS", struct args, seconds, 0, 1000000000,
		 "Stop after SECONDS (with -a and -p)"),
	OPT_STR(0, "scale", "N,...", struct args, scale,
		"Run so many copies at once, by turns, and show what is lost to what"),
	OPT_FLAG(0, "pin", struct args, is_pinned, "Pin each copy to a CPU (with --scale)"),
	OPT_STR(0, "profiles", "FOLDER", struct args, profiles,
		"Write profiles to FOLDER (with --scale) [default: a new folder " SCALE_FOLDER "]"),
	OPT_STR(0, "sacct", "JOBID|FILE", struct args, sacct,
		"Compare Slurm's accounting with a file that -f json wrote"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Write the numbers as a table, CSV or JSON [default table]"),
	OPT_STR('o', "output", "FILE", struct args, output,
		"Write them to FILE [default: standard error]"),
	OPT_END,
};

/* What is measured, and what came of it. */
struct measurement {
	const struct args *args;
	struct stat_series series, vs;
	struct job last; /* of series */
	int status;      /* of the last run of the command that failed */
	bool is_over;    /* a signal ended us, or a program cannot be executed */
};

static int run_once(struct measurement *m, char *const *argv, struct stat_series *s, struct err *e)
{
	struct stat_metric metrics[STAT_MAX_METRICS];
	struct job job;
	bool is_no_exec;
	int rc = job_run(argv, &job, &is_no_exec, e);

	if (rc < 0) {
		job_fini(&job);
		if (!is_no_exec)
			return rc;
		m->is_over = true;
		m->status = cmd_exec_failed("stat", e);
		return 0;
	}
	m->is_over = job.signal != 0;
	if (job.status && (s == &m->series || !m->status))
		m->status = job.status;
	rc = stat_series_add(s, metrics, job_metrics(&job, metrics), e);
	if (s == &m->series) {
		job_fini(&m->last);
		m->last = job;
	} else {
		job_fini(&job);
	}
	return rc;
}

static int run_all(struct measurement *m, char *const *argv, struct err *e)
{
	char shell[] = "sh", option[] = "-c";
	char *line = m->args->vs ? strdup(m->args->vs) : NULL;
	char *const vs[] = { shell, option, line, NULL };
	int rc = m->args->vs && !line ? err_nomem(e) : 0;

	for (uint64_t i = 0; i < m->args->runs && rc == 0 && !m->is_over; i++) {
		rc = run_once(m, argv, &m->series, e);
		if (rc == 0 && line && !m->is_over)
			rc = run_once(m, vs, &m->vs, e);
	}
	free(line);
	return rc;
}

/* Standard output is the command's. */
static int write_text(const struct buf *text, const char *path, struct err *e)
{
	int rc;

	if (path)
		return outfile_replace(path, text->data, text->len, e);
	rc = file_write_all(STDERR_FILENO, text->data, text->len);
	return rc < 0 ? err_set(e, rc, "standard error: %s", strerror(-rc)) : 0;
}

static int show(const struct measurement *m, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	const struct emit_opts o = { .format = (enum emit_format)m->args->format,
				     .is_verbose = cmd_is_verbose() };
	struct stat_process *processes = NULL;
	int rc = job_processes(&m->last, &processes, e);

	if (rc == 0)
		rc = stat_table(&o, &m->series, m->vs.run_count ? &m->vs : NULL, processes,
				m->last.tree.processes.count, &text, e);
	if (rc == 0)
		rc = write_text(&text, m->args->output, e);
	free(processes);
	return rc;
}

static int join_words(char *const *argv, struct buf *ret, struct err *e)
{
	for (size_t i = 0; argv[i]; i++)
		buf_printf(ret, "%s%s", i ? " " : "", argv[i]);
	return buf_error(ret) < 0 ? err_nomem(e) : 0;
}

static int measure(const struct args *args, char *const *argv, struct err *e)
{
	CLEANUP(buf_fini) struct buf command = { 0 };
	struct measurement m = { .args = args };
	int rc = join_words(argv, &command, e);

	m.series.command = command.data;
	m.vs.command = args->vs;
	if (rc == 0)
		rc = run_all(&m, argv, e);
	if (rc == 0 && m.series.run_count)
		rc = show(&m, e);
	job_fini(&m.last);
	stat_series_fini(&m.series);
	stat_series_fini(&m.vs);
	return rc < 0 ? rc : m.status;
}

#define SCALE_ROUNDS 3

static int scale(const struct args *args, char *const *argv, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	const struct scale_args scale = { .list = args->scale,
					  .profiles = args->profiles,
					  .is_pinned = args->is_pinned,
					  .rounds = args->runs ? args->runs : SCALE_ROUNDS,
					  .emit = { .format = (enum emit_format)args->format,
						    .is_verbose = cmd_is_verbose() } };
	int status, rc = stat_scale(&scale, argv, &text, &status, e);

	if (rc == 0 && text.len)
		rc = write_text(&text, args->output, e);
	return rc < 0 ? rc : status;
}

static void put_title(const struct attached_opts *o, struct buf *out)
{
	buf_put_str(out, o->pid_count ? o->pid_count > 1 ? "processes" : "process" : "the machine");
	for (size_t i = 0; i < o->pid_count; i++)
		buf_printf(out, " %d", (int)o->pids[i]);
}

static int put_watched(const struct args *args, const struct attached *w, const char *title,
		       struct buf *out, struct err *e)
{
	const struct emit_opts o = { .format = (enum emit_format)args->format,
				     .is_verbose = cmd_is_verbose() };
	struct stat_metric metrics[STAT_MAX_METRICS];
	struct stat_series series = { .command = title };
	struct stat_process *processes = NULL;
	bool is_machine = !args->pids.count;
	size_t count = 0;
	int rc = attached_processes(w, is_machine, &processes, &count, e);

	if (rc < 0)
		return rc;
	rc = stat_series_add(&series, metrics, attached_metrics(w, is_machine, metrics), e);
	if (rc == 0)
		rc = stat_table(&o, &series, NULL, processes, count, out, e);
	stat_series_fini(&series);
	free(processes);
	return rc;
}

static int observe(const struct args *args, struct err *e)
{
	CLEANUP(buf_fini) struct buf title = { 0 }, text = { 0 };
	pid_t pids[PIDS_MAX];
	struct attached_opts o = { .pids = args->pids.count ? pids : NULL,
				   .duration_ns = (int64_t)(args->seconds * (double)NS_PER_S) };
	struct attached w;
	int rc = pids_parse(&args->pids, pids, &o.pid_count, e);

	if (rc < 0)
		return rc;
	put_title(&o, &title);
	if (buf_error(&title) < 0)
		return err_nomem(e);
	rc = attached_run(&o, &w, e);
	if (rc == 0)
		rc = put_watched(args, &w, title.data, &text, e);
	attached_fini(&w);
	return rc < 0 ? rc : write_text(&text, args->output, e);
}

/* metrics: NULL: none. */
static int compare(const struct args *args, const char *metrics, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	const struct emit_opts emit = { .format = (enum emit_format)args->format,
					.is_verbose = cmd_is_verbose() };
	int rc = stat_sacct(args->sacct, metrics, &emit, &text, e);

	return rc < 0 ? rc : write_text(&text, args->output ? args->output : "-", e);
}

/* What runs already is watched in place of a command. */
static int check_watching(const struct args *args, bool has_command, struct err *e)
{
	const char *option = args->is_all ? "-a" : "-p";

	if (args->is_all && args->pids.count)
		return err_usage(e, "-a and -p do not go together");
	if (has_command)
		return err_usage(e, "%s and a command do not go together", option);
	if (args->runs || args->vs || args->scale)
		return err_usage(e, "%s and --%s do not go together", option,
				 args->runs ? "runs"
				 : args->vs ? "vs"
					    : "scale");
	return 0;
}

static int check_sacct(const struct args *args, int operands, struct err *e)
{
	if (operands > 1)
		return err_usage(e, "--sacct: one file of 'auger stat -f json'");
	if (args->is_all || args->pids.count || args->scale || args->vs || args->runs ||
	    args->seconds > 0)
		return err_usage(e, "--sacct goes with -f and -o only");
	return 0;
}

static int check_usage(const struct args *args, bool has_command, struct err *e)
{
	bool is_watching = args->is_all || args->pids.count;

	if (is_watching)
		return check_watching(args, has_command, e);
	if (!has_command)
		return err_usage(e, "what to look at? '-- CMD', -p PID or -a");
	if (args->seconds > 0)
		return err_usage(e, "-d goes with -p and -a; 'timeout SECONDS CMD' ends a command");
	if (args->scale && args->vs)
		return err_usage(e, "--scale and --vs do not go together");
	if (!args->scale && (args->is_pinned || args->profiles))
		return err_usage(e, "--%s goes with --scale", args->is_pinned ? "pin" : "profiles");
	return 0;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	int first, rc = cmd_parse(&cmd_stat, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if ((args.sacct ? check_sacct(&args, argc - first, e)
			: check_usage(&args, first < argc, e)) < 0)
		return e->code;
	if (args.output && strcmp(args.output, "-") != 0 && outfile_check(args.output, e) < 0)
		return e->code;
	if (args.sacct)
		return compare(&args, argv[first], e);
	if (args.is_all || args.pids.count)
		return observe(&args, e);
	if (args.scale)
		return scale(&args, argv + first, e);
	args.runs = args.runs ? args.runs : 1;
	return measure(&args, argv + first, e);
}

const struct cmd cmd_stat = {
	.name = "stat",
	.operands = "[--] [CMD [ARG...]]",
	.summary = "measure what a command uses: time, memory, faults, I/O, counters, pressure",
	.verbose = "Also show numbers that are 0 or absent, and all processes",
	.opts = opts,
	.runs_program = true,
	.run = run,
};
