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
#include "usage/stat_runs.h"
#include "view/tables/gnu_time.h"
#include "view/tables/stat_table.h"
#include "view/tables/stat_times.h"

struct args {
	uint64_t runs; /* 0: not given */
	uint64_t warmups;
	struct opt_list vs;
	const char *prepare, *markdown, *gnu, *output, *scale, *profiles, *sacct;
	bool is_pinned, is_all;
	struct opt_list pids;
	double seconds; /* 0: not given */
	int format;     /* enum emit_format */
};

static const struct opt opts[] = {
	OPT_UINT('r', "runs", "N", struct args, runs, 1, 100000,
		 "Run CMD N times, and show mean, sigma, median, least and most [default 1; 3 with "
		 "--scale]"),
	OPT_LIST(0, "vs", "CMD2", struct args, vs,
		 "Run this line of sh by turns with CMD, and compare; again for more"),
	OPT_UINT(0, "warmup", "N", struct args, warmups, 0, 100000,
		 "Run each command N times before, without measuring [default 0]"),
	OPT_STR(0, "prepare", "CMD", struct args, prepare,
		"Run this line of sh before each run, without measuring it"),
	OPT_OUTPUT(0, "export-markdown", "FILE", struct args, markdown,
		   "Write the times to FILE, too, as a Markdown table"),
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
	OPT_STR(0, "format-gnu", "FORMAT", struct args, gnu,
		"Write what GNU time's -f FORMAT writes; 'verbose': its -v"),
	OPT_OUTPUT('o', "output", "FILE", struct args, output,
		   "Write them to FILE [default: standard error]"),
	OPT_END,
};

/* Standard output is the command's. */
static int write_text(const struct buf *text, const char *path, struct err *e)
{
	int rc;

	if (path)
		return outfile_replace(path, text->data, text->len, e);
	rc = file_write_all(STDERR_FILENO, text->data, text->len);
	return rc < 0 ? err_set(e, rc, "standard error: %s", strerror(-rc)) : 0;
}

/* Of tables that go to fd, unless a file is given. */
static size_t width_of(const struct args *args, int fd)
{
	return args->output ? 0 : screen_width(fd);
}

static int show(struct stat_runs *m, const struct args *args, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 }, verdict = { 0 };
	const struct emit_opts o = { .format = (enum emit_format)args->format,
				     .is_verbose = cmd_is_verbose(),
				     .width = width_of(args, STDERR_FILENO) };
	struct stat_process *processes = NULL;
	int rc = job_processes(&m->last, &processes, e);

	job_verdict(&m->last, &verdict);
	if (m->series->run_count == 1 && m->count == 1)
		m->series->verdict = verdict.data;
	if (rc == 0 && buf_error(&verdict) < 0)
		rc = err_nomem(e);
	if (rc == 0)
		rc = stat_table(&o, m->series, m->count, processes, m->last.tree.processes.count,
				&text, e);
	if (rc == 0)
		rc = write_text(&text, args->output, e);
	free(processes);
	return rc;
}

static int show_as_gnu_time(const struct stat_runs *m, const struct args *args, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	const struct gnu_time time = { .command = m->series->command,
				       .usage = &m->last.usage,
				       .elapsed_ns = m->last.elapsed_ns,
				       .status = m->last.status,
				       .end_signal = m->last.end_signal };

	gnu_time_put(&time, strcmp(args->gnu, "verbose") == 0 ? gnu_time_verbose : args->gnu,
		     &text);
	return buf_error(&text) < 0 ? err_nomem(e) : write_text(&text, args->output, e);
}

static int export_markdown(const struct stat_runs *m, const char *path, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc = stat_times_markdown(m->series, m->count, &text, e);

	return rc < 0 ? rc : outfile_replace(path, text.data, text.len, e);
}

static int join_words(char *const *argv, struct buf *ret, struct err *e)
{
	for (size_t i = 0; argv[i]; i++)
		buf_printf(ret, "%s%s", i ? " " : "", argv[i]);
	return buf_error(ret) < 0 ? err_nomem(e) : 0;
}

/* What was interrupted shows the commands that ran as often as the first. */
static void leave_out_unequal(struct stat_runs *m)
{
	while (m->count > 1 && m->series[m->count - 1].run_count != m->series->run_count)
		stat_series_fini(&m->series[--m->count]);
}

static int measure(const struct args *args, char *const *argv, struct err *e)
{
	CLEANUP(buf_fini) struct buf command = { 0 };
	CLEANUP(stat_runs_fini) struct stat_runs m = { 0 };
	struct stat_runs_opts o = { .argv = argv,
				    .others = args->vs.items,
				    .other_count = args->vs.count,
				    .prepare = args->prepare,
				    .runs = args->runs,
				    .warmups = args->warmups };
	int rc = join_words(argv, &command, e);

	o.title = command.data;
	if (rc == 0)
		rc = stat_runs(&o, &m, e);
	if (rc < 0)
		return m.is_no_exec ? cmd_exec_failed("stat", e) : rc;
	leave_out_unequal(&m);
	if (m.series->run_count)
		rc = args->gnu ? show_as_gnu_time(&m, args, e) : show(&m, args, e);
	if (rc == 0 && m.series->run_count && args->markdown)
		rc = export_markdown(&m, args->markdown, e);
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
				     .is_verbose = cmd_is_verbose(),
				     .width = width_of(args, STDERR_FILENO) };
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
		rc = stat_table(&o, &series, 1, processes, count, out, e);
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
					.is_verbose = cmd_is_verbose(),
					.width = width_of(args, STDOUT_FILENO) };
	int rc = stat_sacct(args->sacct, metrics, &emit, &text, e);

	return rc < 0 ? rc : write_text(&text, args->output ? args->output : "-", e);
}

/* The first option that is for runs of a command; NULL: none. */
static const char *option_of_runs(const struct args *args)
{
	return args->vs.count   ? "vs"
	       : args->warmups  ? "warmup"
	       : args->prepare  ? "prepare"
	       : args->markdown ? "export-markdown"
	       : args->gnu      ? "format-gnu"
				: NULL;
}

/* What runs already is watched in place of a command. */
static int check_watching(const struct args *args, bool has_command, struct err *e)
{
	const char *option = args->is_all ? "-a" : "-p";
	const char *other = args->runs ? "runs" : args->scale ? "scale" : option_of_runs(args);

	if (args->is_all && args->pids.count)
		return err_usage(e, "-a and -p do not go together");
	if (has_command)
		return err_usage(e, "%s and a command do not go together", option);
	return other ? err_usage(e, "%s and --%s do not go together", option, other) : 0;
}

static int check_sacct(const struct args *args, int operands, struct err *e)
{
	if (operands > 1)
		return err_usage(e, "--sacct: one file of 'auger stat -f json'");
	if (args->is_all || args->pids.count || args->scale || args->runs || args->seconds > 0 ||
	    option_of_runs(args))
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
	if (args->scale && option_of_runs(args))
		return err_usage(e, "--scale and --%s do not go together", option_of_runs(args));
	if (args->vs.count >= STAT_MAX_COMMANDS)
		return err_usage(e, "--vs: at most %d commands are compared", STAT_MAX_COMMANDS);
	if (args->gnu && (args->runs > 1 || args->vs.count || args->format != EMIT_TABLE))
		return err_usage(e, "--format-gnu is for one run of one command, without -f");
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
	if ((args.output && strcmp(args.output, "-") != 0 && outfile_check(args.output, e) < 0) ||
	    (args.markdown && outfile_check(args.markdown, e) < 0))
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
	.verbose = "Also show all other numbers, and all processes",
	.opts = opts,
	.runs_program = true,
	.run = run,
};
