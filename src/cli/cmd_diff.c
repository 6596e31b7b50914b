/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/cmd.h"
#include "cli/grouping.h"
#include "cli/profile_opts.h"
#include "cli/screen.h"
#include "model/diff.h"
#include "model/wait_frames.h"
#include "source/inputs.h"
#include "source/load.h"
#include "view/compare.h"

#define DEFAULT_ROWS 40
#define ROWS_NOT_GIVEN UINT64_MAX

struct args {
	struct filter_args filter;
	struct binaries_args places;
	const char *by, *classes, *value, *from, *normalize;
	bool has_totals, has_kernel_frames;
	uint64_t rows;
	int order;  /* enum compare_order */
	int format; /* enum emit_format */
	int color;  /* enum color_when */
};

static const char *const orders[] = { "change", "before", "after", "name", NULL };

static const struct opt opts[] = {
	OPT_STR(0, "by", "WHAT", struct args, by, GROUPING_HELP),
	OPT_CLASSES(struct args, classes),
	OPT_FLAG(0, "total", struct args, has_totals,
		 "Compare functions with what they call, not their own cost"),
	OPT_STR(0, "normalize", "BY", struct args, normalize,
		"Scale BEFORE by this: total, duration, a sample type, or N:M"),
	OPT_INCLUDE(struct args, filter, filter_opts),
	OPT_KERNEL_FRAMES(struct args, has_kernel_frames),
	OPT_INCLUDE(struct args, places, places_opts),
	OPT_STR(0, "value", "TYPE", struct args, value,
		"Compare this sample type [default: that of BEFORE]"),
	OPT_STR(0, "from", "FORMAT", struct args, from,
		"Read the files as this format [default: by their content]"),
	OPT_UINT('n', "rows", "N", struct args, rows, 0, UINT64_MAX - 1,
		 "Show N rows, 0 for all [default 40; all of CSV and JSON]"),
	OPT_CHOICE(0, "sort", "change|before|after|name", struct args, order, orders,
		   "Sort rows by this, the largest first [default change]"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Write the rows as a table, CSV or JSON [default table]"),
	OPT_COLOR(struct args, color),
	OPT_END,
};

struct run {
	char *path;                /* a file, or a folder that is added up */
	struct profile *profile;   /* filtered */
	struct report_facts facts; /* of the whole profile */
	size_t type;               /* the sample type that is compared */
	double amount;             /* what its values are divided by */
};

struct side {
	struct run runs[DIFF_MAX_RUNS]; /* [count] */
	size_t count;
};

/* "N:M": how much work each run of the two sides did. */
static void read_amounts(const char *text, struct side *sides)
{
	double amounts[2];
	char rest;

	if (sscanf(text, "%lf:%lf%c", &amounts[0], &amounts[1], &rest) != 2 ||
	    !(amounts[0] > 0 && amounts[1] > 0))
		return;
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side].count; i++)
			sides[side].runs[i].amount = amounts[side];
}

/* Before the filter: how much of what --normalize names this run has. */
static int measure(struct run *r, const char *normalize, struct err *e)
{
	int type = profile_find_type(r->profile, normalize);

	if (strcmp(normalize, "duration") == 0)
		r->amount = (double)profile_get_info(r->profile)->duration_ns;
	else if (type >= 0)
		r->amount = (double)report_facts(r->profile, (size_t)type).total;
	else
		return err_usage(e, "--normalize: %s has no sample type '%s'", r->path, normalize);
	return 0;
}

static int open_run(struct run *r, const struct args *a, const struct grouping *g, struct err *e)
{
	bool is_total = a->normalize && strcmp(a->normalize, "total") == 0;
	const struct inputs_opts o = { .from = a->from, .places = &a->places };
	int rc = inputs_load_names(&r->path, 1, &o, &r->profile, e);

	if (rc == 0)
		rc = choose_type(r->profile, a->value, &r->type, e);
	if (rc < 0)
		return rc;
	if (!profile_type_count(r->profile))
		return err_set(e, -EINVAL, "%s: has no values to compare", r->path);
	if (a->normalize && !is_total && r->amount == 0) {
		rc = measure(r, a->normalize, e);
		if (rc < 0)
			return rc;
	}
	r->facts = report_facts(r->profile, r->type);
	rc = g->is_class ? grouping_label_classes(&r->profile, a->classes, e) : 0;
	if (rc == 0)
		rc = apply_filter(&r->profile, &a->filter, e);
	if (rc == 0 && !a->has_kernel_frames)
		rc = profile_charge_waits(&r->profile, WAIT_LEAF_NAMED, e);
	return rc;
}

/* The total of a run in the diff, where nothing names it otherwise. */
static void measure_totals(struct side *sides, const struct profile *diff)
{
	for (size_t side = 0, run = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side].count; i++, run++)
			sides[side].runs[i].amount =
				(double)report_facts(diff, profile_diff_run_type(diff, run)).total;
}

static double mean_amount(const struct side *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->count; i++)
		sum += s->runs[i].amount;
	return sum / (double)s->count;
}

/* By how much the values of each run are multiplied, so that all have the mean amount of those
 * after. */
static int find_factors(struct side *sides, const struct profile *diff, const char *normalize,
			struct compare_side *to, struct err *e)
{
	double amount;

	if (normalize && strcmp(normalize, "total") == 0)
		measure_totals(sides, diff);
	amount = mean_amount(&sides[1]);
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side].count; i++) {
			double factor = normalize ? amount / sides[side].runs[i].amount : 1;

			if (!isfinite(factor) || factor <= 0)
				return err_set(e, -EINVAL,
					       "--normalize %s: from %g to %g cannot be compared",
					       normalize, sides[side].runs[i].amount, amount);
			to[side].factors[i] = factor;
		}
	return 0;
}

static int show(const struct profile *diff, const struct compare_opts *o, const struct args *a,
		struct err *e)
{
	CLEANUP(screen_rows_fini) struct screen_rows rows;
	int rc;

	screen_rows_begin(&rows, a->format, a->color);
	rc = compare_put(&rows.out, diff, o, e);
	return rc < 0 ? rc : screen_rows_end(&rows, e);
}

/* names: gets those of all runs. */
static struct compare_side describe_side(const struct side *s, struct buf *names)
{
	struct compare_side ret = { .facts = s->runs[0].facts,
				    .runs = s->count,
				    .profile = s->runs[0].profile,
				    .profile_type = s->runs[0].type };

	for (size_t i = 0; i < s->count; i++) {
		const struct run *r = &s->runs[i];

		buf_printf(names, "%s%s", i ? ", " : "",
			   strcmp(r->path, "-") == 0 ? "standard input" : r->path);
		ret.duration_ns += profile_get_info(r->profile)->duration_ns;
		if (i && r->facts.samples >= 0)
			ret.facts.samples += r->facts.samples;
		if (i)
			ret.facts.lost += r->facts.lost;
	}
	ret.file = names->data;
	return ret;
}

static int compare(struct side *sides, const struct profile *diff, const struct args *a,
		   const struct grouping *g, const char *type, struct err *e)
{
	CLEANUP(buf_fini) struct buf filter = { 0 }, before = { 0 }, after = { 0 };
	struct compare_side described[] = { describe_side(&sides[0], &before),
					    describe_side(&sides[1], &after) };
	bool is_all = a->format != EMIT_TABLE;
	struct compare_opts o = {
		.type = type,
		.normalized = a->normalize,
		.has_totals = a->has_totals,
		.by = g->by,
		.label = g->label,
		.order = (enum compare_order)a->order,
		.limit = a->rows != ROWS_NOT_GIVEN ? (size_t)a->rows
			 : is_all                  ? 0
						   : DEFAULT_ROWS,
	};
	int rc = find_factors(sides, diff, a->normalize, described, e);

	if (rc < 0)
		return rc;
	o.before = described[0];
	o.after = described[1];
	describe_filter(&a->filter, &filter);
	if (buf_error(&filter) < 0 || buf_error(&before) < 0 || buf_error(&after) < 0)
		return err_nomem(e);
	o.filter = filter.data;
	return show(diff, &o, a, e);
}

static int open_all(struct side *sides, const struct args *a, const struct grouping *g,
		    struct value_type *ret, struct err *e)
{
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side].count; i++) {
			int rc = open_run(&sides[side].runs[i], a, g, e);

			if (rc < 0)
				return rc;
			if (side == 0 && i == 0)
				*ret = profile_get_type(sides[0].runs[0].profile,
							sides[0].runs[0].type);
		}
	return 0;
}

static int load_and_compare(struct side *sides, const struct args *a, const struct grouping *g,
			    struct err *e)
{
	const struct profile *runs[2][DIFF_MAX_RUNS], *first;
	struct profile *diff;
	struct value_type type;
	int rc = open_all(sides, a, g, &type, e);

	if (rc < 0)
		return rc;
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side].count; i++)
			runs[side][i] = sides[side].runs[i].profile;
	first = runs[0][0];
	rc = profile_diff_runs(&(struct diff_side){ runs[0], sides[0].count },
			       &(struct diff_side){ runs[1], sides[1].count },
			       profile_text(first, type.type), profile_text(first, type.unit),
			       &diff, e);
	if (rc < 0)
		return rc;
	if (g->label)
		warn_absent_label(diff, g->label);
	rc = compare(sides, diff, a, g, profile_text(first, type.type), e);
	profile_free(diff);
	return rc;
}

static int add_runs(struct side *s, char **paths, size_t count, struct err *e)
{
	if (count > DIFF_MAX_RUNS)
		return err_usage(e, "at most %d profiles a side", DIFF_MAX_RUNS);
	for (size_t i = 0; i < count; i++)
		s->runs[s->count++].path = paths[i];
	return 0;
}

/* "--" separates the sides, where files stand before it. */
static int find_sides(struct side *sides, char **files, int count, char **others, int other_count,
		      struct err *e)
{
	int rc;

	if (!count) {
		files = others;
		count = other_count;
		other_count = 0;
	}
	if (!other_count && count != 2)
		return err_usage(e,
				 "needs two files, the profile before and the one after; several "
				 "runs: BEFORE... -- AFTER...");
	if (!other_count) {
		others = &files[--count];
		other_count = 1;
	}
	rc = add_runs(&sides[0], files, (size_t)count, e);
	return rc < 0 ? rc : add_runs(&sides[1], others, (size_t)other_count, e);
}

static void sides_free(struct side *sides)
{
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side].count; i++)
			profile_free(sides[side].runs[i].profile);
	free(sides);
}

/* Options may stand among the files of both sides. */
static int parse(struct args *args, struct side *sides, int argc, char **argv, struct err *e)
{
	int end = 1, first, other = 1, rc;

	while (end < argc && strcmp(argv[end], "--") != 0)
		end++;
	rc = cmd_parse(&cmd_diff, args, end, argv, &first, e);
	if (rc == 0 && end < argc)
		rc = cmd_parse(&cmd_diff, args, argc - end, argv + end, &other, e);
	return rc ? rc
		  : find_sides(sides, argv + first, end - first, argv + end + other,
			       end < argc ? argc - end - other : 0, e);
}

static int run_with(struct side *sides, int argc, char **argv, struct err *e)
{
	struct args args = { .by = "function", .rows = ROWS_NOT_GIVEN };
	struct grouping grouping = { 0 };
	int rc = parse(&args, sides, argc, argv, e);

	if (rc == 0)
		rc = grouping_parse(args.by, &grouping, e);
	if (rc == 0 && args.classes && !grouping.is_class)
		return err_usage(e, "--classes goes with --by class");
	if (rc)
		return rc;
	if (args.normalize)
		read_amounts(args.normalize, sides);
	return load_and_compare(sides, &args, &grouping, e);
}

static int run(int argc, char **argv, struct err *e)
{
	struct side *sides = calloc(2, sizeof *sides);
	int rc = sides ? run_with(sides, argc, argv, e) : err_nomem(e);

	if (sides)
		sides_free(sides);
	return rc;
}

const struct cmd cmd_diff = {
	.name = "diff",
	.operands = "BEFORE AFTER | BEFORE... -- AFTER...",
	.summary = "compare two profiles: what costs more, what less, and what is chance",
	.verbose = "Also show source file and line, and print what is read",
	.opts = opts,
	.run = run,
};
