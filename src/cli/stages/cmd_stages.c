/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cmd.h"
#include "cli/screen.h"
#include "source/save.h"
#include "source/stage_inputs.h"
#include "usage/slurm/accounting.h"
#include "usage/stage_run.h"
#include "view/tables/stage_diff.h"
#include "view/tables/stage_jobs_table.h"
#include "view/tables/stage_table.h"

#define DEFAULT_ROWS 40
#define ROWS_NOT_GIVEN UINT64_MAX

struct args {
	const char *by, *to, *output, *reports, *sacct;
	int level; /* index of stage_levels */
	bool is_strict, is_diff;
	uint64_t rows;
	int order;  /* enum stage_order */
	int format; /* enum emit_format */
	int color;  /* enum color_when */
};

static const struct opt opts[] = {
	OPT_STR(0, "by", "WHAT", struct args, by,
		"Show a row for each host, rank, job, input, file or other member of the records; "
		"host,input: of both"),
	OPT_UINT('n', "rows", "N", struct args, rows, 0, UINT64_MAX - 1,
		 "Show N rows, 0 for all [default 40; all of CSV and JSON]"),
	OPT_CHOICE(0, "sort", STAGE_ORDERS, struct args, order, stage_orders,
		   "Sort rows by this [default wall]"),
	OPT_FLAG(0, "strict", struct args, is_strict,
		 "Fail at the first damaged line instead of leaving it out"),
	OPT_FLAG(0, "diff", struct args, is_diff,
		 "Compare BEFORE and AFTER, each a file, folder or pattern"),
	OPT_STR(0, "sacct", "FILE", struct args, sacct,
		"Compare with what 'sacct -P' printed to FILE, or prints now (live)"),
	OPT_STR(0, "to", "FORMAT", struct args, to,
		"Write a profile with the stages as stacks (profile: pprof)"),
	OPT_OUTPUT('o', "output", "FILE", struct args, output, "Write the profile to FILE"),
	OPT_CHOICE(0, "level", "full|time", struct args, level, stage_levels,
		   "Measure everything, or time only (run) [default full]"),
	OPT_STR(0, "reports", "DIR", struct args, reports,
		"Keep the reports in DIR (run) [default: show the table only]"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Write the rows as a table, CSV or JSON [default table]"),
	OPT_COLOR(struct args, color),
	OPT_END,
};

static size_t row_limit(const struct args *a)
{
	if (a->rows != ROWS_NOT_GIVEN)
		return (size_t)a->rows;
	return a->format == EMIT_TABLE ? DEFAULT_ROWS : 0;
}

/* What there is to show: one of them, or both sides. */
struct found {
	struct stages *stages;
	struct stage_inputs inputs;
};

static void found_fini(struct found *f)
{
	stages_free(f->stages);
}

static int show(const struct args *a, const struct found *found, const struct stage_jobs *jobs,
		const struct stage_diff_opts *diff, struct err *e)
{
	CLEANUP(screen_rows_fini) struct screen_rows rows;
	const struct stage_table_opts o = { found->inputs, a->by, (enum stage_order)a->order,
					    row_limit(a) };
	int rc;

	screen_rows_begin(&rows, a->format, a->color);
	if (diff)
		rc = stage_diff(&rows.out, found[0].stages, found[1].stages, diff, e);
	else if (jobs)
		rc = stage_jobs_table(&rows.out, jobs, &found->inputs, row_limit(a), e);
	else
		rc = stage_table(&rows.out, found->stages, &o, e);
	return rc < 0 ? rc : screen_rows_end(&rows, e);
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

static void show_progress(uint64_t file, double percent)
{
	fputs("\r\033[K", stderr);
	if (file)
		fprintf(stderr, "file %llu", (unsigned long long)file);
	if (percent >= 0)
		fprintf(stderr, ": %.0f %%", percent);
}

/* The options that all kinds of reading share. */
static struct stage_input_opts input_opts(const struct args *a)
{
	return (struct stage_input_opts){ .by = a->by,
					  .is_strict = a->is_strict,
					  .progress =
						  isatty(STDERR_FILENO) ? show_progress : NULL };
}

static int see_job(void *jobs, const struct stage_record *r)
{
	return stage_jobs_add(jobs, r);
}

/* Rows are jobs instead of stages. */
static int compare_jobs(const struct args *a, char **paths, size_t count, struct err *e)
{
	CLEANUP(found_fini) struct found found = { 0 };
	struct stage_jobs *jobs = stage_jobs_new();
	struct stage_input_opts o = input_opts(a);
	struct accounting accounting = { 0 };
	int rc;

	o.see = see_job;
	o.context = jobs;
	rc = jobs ? stage_inputs_read(paths, count, &o, &found.stages, &found.inputs, e)
		  : err_nomem(e);

	if (rc == 0)
		rc = accounting_load(&accounting, a->sacct, jobs, e);
	if (rc == 0)
		rc = show(a, &found, jobs, NULL, e);
	accounting_fini(&accounting);
	stage_jobs_free(jobs);
	return rc;
}

static int compare_two(const struct args *a, char **paths, struct err *e)
{
	const struct stage_input_opts o = input_opts(a);
	struct found sides[2] = { { 0 } };
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++)
		rc = stage_inputs_read(&paths[i], 1, &o, &sides[i].stages, &sides[i].inputs, e);
	if (rc == 0) {
		const struct stage_diff_opts diff = {
			paths[0],
			paths[1],
			{ sides[0].inputs, sides[1].inputs },
			a->by,
			a->order == STAGE_BY_NAME,
			row_limit(a),
		};

		rc = show(a, sides, NULL, &diff, e);
	}
	found_fini(&sides[0]);
	found_fini(&sides[1]);
	return rc;
}

/* folder: as in struct stage_input_opts. */
static int reduce(const struct args *a, char **paths, size_t count, const char *folder,
		  struct err *e)
{
	struct stage_input_opts o = input_opts(a);
	CLEANUP(found_fini) struct found found = { 0 };
	bool is_saved = a->to || a->output;
	struct output output;
	int rc = 0;

	o.folder = folder;
	if (a->sacct)
		return compare_jobs(a, paths, count, e);
	if (is_saved)
		rc = choose_output(a->output,
				   a->to && strcmp(a->to, "profile") == 0 ? "pprof" : a->to, NULL,
				   &output, e);
	if (rc == 0)
		rc = stage_inputs_read(paths, count, &o, &found.stages, &found.inputs, e);
	if (rc < 0)
		return rc;
	return is_saved ? save(found.stages, a, &output, e) : show(a, &found, NULL, NULL, e);
}

/* What cannot be asked for together. */
static int check_usage(const struct args *a, bool is_run, size_t count, struct err *e)
{
	if (a->sacct && (a->by || a->to || a->output))
		return err_usage(e, "--sacct cannot be combined with --by, --to and -o");
	if (a->is_diff && (is_run || a->sacct || a->to || a->output))
		return err_usage(e, "--diff cannot be combined with run, --sacct, --to and -o");
	if (a->is_diff && a->order != STAGE_BY_WALL && a->order != STAGE_BY_NAME)
		return err_usage(e, "--diff is sorted by the change, or by name");
	if (a->is_diff && count != 2)
		return err_usage(e, "--diff: name two files, folders or patterns");
	if (!is_run && (a->reports || a->level))
		return err_usage(e, "--level and --reports go with run");
	return 0;
}

/* The command's exit status is ours, unless its reports cannot be shown. */
static int run_and_reduce(const struct args *a, char **argv, struct err *e)
{
	const struct stage_run_opts o = {
		.argv = argv,
		.level = stage_levels[a->level],
		.folder = a->reports,
		.owns_stdout = a->format != EMIT_TABLE || a->to || a->output,
	};
	struct stage_run r;
	char *folder = r.folder;
	int status, rc;

	if (!argv[0])
		return err_usage(e, "run: no command");
	rc = stage_run(&o, &r, e);
	if (rc < 0)
		return rc;
	status = r.status;
	rc = reduce(a, &folder, 1, r.is_temporary ? folder : NULL, e);
	if (rc == -ENODATA) {
		log_msg(LOG_WARN, "stages",
			"%s wrote no stage reports: it names stages by 'from auger import "
			"StageProfiler' and 'with prof.stage(\"NAME\"):', or in C by auger/stage.h; "
			"'auger record' and 'auger stat' measure any program",
			argv[0]);
		rc = 0;
	}
	stage_run_fini(&r);
	return rc < 0 ? rc : status;
}

/* "run" ends the options that are ours but for those right behind it: the command's are its own.
 * *ret_first: of the command, or of the files. */
static int parse(struct args *args, bool *ret_is_run, int argc, char **argv, int *ret_first,
		 struct err *e)
{
	struct args before_run = *args;
	struct cmd with_program = cmd_stages;
	int first, rc;

	with_program.runs_program = true;
	rc = cmd_parse(&with_program, &before_run, argc, argv, &first, e);
	if (rc < 0)
		return rc;
	*ret_is_run = first < argc && strcmp(argv[first], "run") == 0;
	if (!*ret_is_run)
		return cmd_parse(&cmd_stages, args, argc, argv, ret_first, e);
	*args = before_run;
	rc = cmd_parse(&with_program, args, argc - first, argv + first, ret_first, e);
	*ret_first += first;
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .rows = ROWS_NOT_GIVEN };
	bool is_run;
	int first, rc = parse(&args, &is_run, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (first == argc && !is_run)
		return err_usage(e, "no files, folders or patterns to read; '-' is standard input");
	rc = check_usage(&args, is_run, (size_t)(argc - first), e);
	if (rc < 0)
		return rc;
	if (args.is_diff)
		return compare_two(&args, argv + first, e);
	return is_run ? run_and_reduce(&args, argv + first, e)
		      : reduce(&args, argv + first, (size_t)(argc - first), NULL, e);
}

const struct cmd cmd_stages = {
	.name = "stages",
	.operands = "FILE|DIR|PATTERN... | run [--] CMD [ARG...]",
	.summary = "reduce stage reports (JSON lines) of any number of runs to one table",
	.verbose = "Also show all columns, and print what is read of each file",
	.opts = opts,
	.run = run,
};
