/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/save.h"
#include "cli/screen.h"
#include "cli/stage_inputs.h"
#include "cli/stage_run.h"
#include "cli/stage_sacct.h"
#include "view/stage_jobs_table.h"
#include "view/stage_table.h"

#define DEFAULT_ROWS 40
#define ROWS_NOT_GIVEN UINT64_MAX

struct args {
	const char *by, *to, *output, *reports, *sacct;
	int level; /* index of stage_levels */
	bool is_strict;
	uint64_t rows;
	int order;  /* enum stage_order */
	int format; /* enum emit_format */
	int colour; /* enum colour_when */
};

static const struct opt opts[] = {
	OPT_STR(0, "by", "WHAT", struct args, by,
		"a row for each host, rank, job, input, file or other member of the records"),
	OPT_UINT('n', "top", "N", struct args, rows, 0, UINT64_MAX - 1,
		 "show N rows, 0 for all (default 40; all of CSV and JSON)"),
	OPT_CHOICE(0, "sort", STAGE_ORDERS, struct args, order, stage_orders,
		   "order (default wall)"),
	OPT_FLAG(0, "strict", struct args, is_strict,
		 "fail at the first damaged line instead of leaving it out"),
	OPT_STR(0, "sacct", "FILE", struct args, sacct,
		"jobs: reports against what 'sacct -P' printed to FILE, or 'live' to ask it"),
	OPT_STR(0, "to", "FORMAT", struct args, to,
		"write a profile with the stages as stacks (profile: pprof)"),
	OPT_STR('o', "output", "FILE", struct args, output, "write the profile to FILE"),
	OPT_CHOICE(0, "level", "full|time", struct args, level, stage_levels,
		   "of run: what is measured (default full)"),
	OPT_STR(0, "reports", "DIR", struct args, reports,
		"of run: keep the reports in DIR (default: only the table is shown)"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "how to write the rows (default table)"),
	OPT_COLOUR(struct args, colour),
	OPT_END,
};

static size_t row_limit(const struct args *a)
{
	if (a->rows != ROWS_NOT_GIVEN)
		return (size_t)a->rows;
	return a->format == EMIT_TABLE ? DEFAULT_ROWS : 0;
}

/* jobs NULL: a row a stage. */
static int show(const struct stages *s, const struct stage_jobs *jobs,
		const struct stage_inputs *inputs, const struct args *a, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct screen screen = screen_get((enum colour_when)a->colour);
	const struct emit_opts emit_opts = { (enum emit_format)a->format, screen.width,
					     screen.has_colour };
	const struct stage_table_opts o = { *inputs, a->by, (enum stage_order)a->order,
					    row_limit(a) };
	CLEANUP(emit_fini) struct emit out;
	int rc;

	emit_begin(&out, &emit_opts, &text);
	rc = jobs ? stage_jobs_table(&out, jobs, inputs, row_limit(a), e)
		  : stage_table(&out, s, &o, e);
	if (rc < 0)
		return rc;
	return emit_end(&out) < 0 ? err_nomem(e) : screen_show(&screen, &text, e);
}

static int save(const struct stages *s, const struct args *a, const struct output *output,
		struct err *e)
{
	struct profile *p = profile_new();
	int rc;

	if (!p)
		return err_nomem(e);
	stages_to_profile(s, a->by, p);
	rc = profile_check(p, e);
	if (rc == 0)
		rc = save_profile(p, output, e);
	profile_free(p);
	return rc;
}

static int see_job(void *jobs, const struct stage_record *r)
{
	return stage_jobs_add(jobs, r);
}

/* Rows are jobs instead of stages. */
static int compare_jobs(const struct args *a, char **paths, size_t count, struct err *e)
{
	struct stage_jobs *jobs = stage_jobs_new();
	const struct stage_input_opts o = { .is_strict = a->is_strict,
					    .see = see_job,
					    .context = jobs };
	struct stage_inputs inputs;
	struct accounting accounting = { 0 };
	struct stages *s = NULL;
	int rc = jobs ? stage_inputs_read(paths, count, &o, &s, &inputs, e) : err_nomem(e);

	if (rc == 0)
		rc = accounting_load(&accounting, a->sacct, jobs, e);
	if (rc == 0)
		rc = show(s, jobs, &inputs, a, e);
	if (s)
		stages_free(s);
	accounting_fini(&accounting);
	stage_jobs_free(jobs);
	return rc;
}

static int reduce(const struct args *a, char **paths, size_t count, struct err *e)
{
	const struct stage_input_opts o = { .by = a->by, .is_strict = a->is_strict };
	bool is_saved = a->to || a->output;
	struct stage_inputs inputs;
	struct output output;
	struct stages *s;
	int rc = 0;

	if (a->sacct)
		return compare_jobs(a, paths, count, e);
	if (is_saved)
		rc = choose_output(a->output,
				   a->to && strcmp(a->to, "profile") == 0 ? "pprof" : a->to, NULL,
				   &output, e);
	if (rc == 0)
		rc = stage_inputs_read(paths, count, &o, &s, &inputs, e);
	if (rc < 0)
		return rc;
	rc = is_saved ? save(s, a, &output, e) : show(s, NULL, &inputs, a, e);
	stages_free(s);
	return rc;
}

/* What cannot be asked for together. */
static int check_usage(const struct args *a, bool is_run, struct err *e)
{
	if (a->sacct && (a->by || a->to || a->output))
		return cmd_usage(e, "--sacct cannot be combined with --by, --to and -o");
	if (!is_run && (a->reports || a->level))
		return cmd_usage(e, "--level and --reports go with run");
	return 0;
}

/* The command's exit status is ours, unless its reports cannot be shown. */
static int run_and_reduce(const struct args *a, char **argv, struct err *e)
{
	struct stage_run r;
	char *folder = r.folder;
	int status, rc;

	if (!argv[0])
		return cmd_usage(e, "run: no command");
	rc = stage_run(argv, stage_levels[a->level], a->reports, &r, e);
	if (rc < 0)
		return rc;
	status = r.status;
	rc = reduce(a, &folder, 1, e);
	if (rc == -ENODATA) {
		log_msg(LOG_WARN, "stages", "%s wrote no stage reports", argv[0]);
		rc = 0;
	}
	stage_run_fini(&r);
	return rc < 0 ? rc : status;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .rows = ROWS_NOT_GIVEN };
	bool is_run;
	int first, rc = cmd_parse(&cmd_stages, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (first == argc)
		return cmd_usage(e, "no files, folders or patterns to read; '-' is standard input");
	is_run = strcmp(argv[first], "run") == 0;
	rc = check_usage(&args, is_run, e);
	if (rc < 0)
		return rc;
	return is_run ? run_and_reduce(&args, argv + first + 1, e)
		      : reduce(&args, argv + first, (size_t)(argc - first), e);
}

const struct cmd cmd_stages = {
	.name = "stages",
	.operands = "FILE|DIR|PATTERN... | run [--] CMD [ARG...]",
	.summary = "reduce stage reports (JSON lines) of any number of runs to one table",
	.opts = opts,
	.run = run,
};
