/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "cli/cmd.h"
#include "cli/save.h"
#include "cli/screen.h"
#include "cli/stage_inputs.h"
#include "view/stage_table.h"

#define DEFAULT_ROWS 40
#define ROWS_NOT_GIVEN UINT64_MAX

struct args {
	const char *by, *to, *output;
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
	OPT_STR(0, "to", "FORMAT", struct args, to,
		"write a profile with the stages as stacks (profile: pprof)"),
	OPT_STR('o', "output", "FILE", struct args, output, "write the profile to FILE"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "how to write the rows (default table)"),
	OPT_COLOUR(struct args, colour),
	OPT_END,
};

static int show(const struct stages *s, const struct stage_inputs *inputs, const struct args *a,
		struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct screen screen = screen_get((enum colour_when)a->colour);
	const struct emit_opts emit_opts = { (enum emit_format)a->format, screen.width,
					     screen.has_colour };
	const struct stage_table_opts o = {
		.inputs = *inputs,
		.group = a->by,
		.order = (enum stage_order)a->order,
		.limit = a->rows != ROWS_NOT_GIVEN ? (size_t)a->rows
			 : a->format == EMIT_TABLE ? DEFAULT_ROWS
						   : 0,
	};
	CLEANUP(emit_fini) struct emit out;
	int rc;

	emit_begin(&out, &emit_opts, &text);
	rc = stage_table(&out, s, &o, e);
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

static int reduce(const struct args *a, char **paths, size_t count, struct err *e)
{
	const struct stage_input_opts o = { .by = a->by, .is_strict = a->is_strict };
	bool is_saved = a->to || a->output;
	struct stage_inputs inputs;
	struct output output;
	struct stages *s;
	int rc = 0;

	if (is_saved)
		rc = choose_output(a->output,
				   a->to && strcmp(a->to, "profile") == 0 ? "pprof" : a->to, NULL,
				   &output, e);
	if (rc == 0)
		rc = stage_inputs_read(paths, count, &o, &s, &inputs, e);
	if (rc < 0)
		return rc;
	rc = is_saved ? save(s, a, &output, e) : show(s, &inputs, a, e);
	stages_free(s);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .rows = ROWS_NOT_GIVEN };
	int first, rc = cmd_parse(&cmd_stages, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (first == argc)
		return cmd_usage(e, "no files, folders or patterns to read; '-' is standard input");
	return reduce(&args, argv + first, (size_t)(argc - first), e);
}

const struct cmd cmd_stages = {
	.name = "stages",
	.operands = "FILE|DIR|PATTERN...",
	.summary = "reduce stage reports (JSON lines) of any number of runs to one table",
	.opts = opts,
	.run = run,
};
