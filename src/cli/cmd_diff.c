/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/cmd.h"
#include "cli/grouping.h"
#include "cli/profile_opts.h"
#include "cli/screen.h"
#include "model/diff.h"
#include "model/wait_frames.h"
#include "source/load.h"
#include "view/compare.h"

#define DEFAULT_ROWS 40
#define ROWS_NOT_GIVEN UINT64_MAX

struct args {
	struct filter_args filter;
	struct binaries_args places;
	const char *by, *value, *from, *normalize;
	bool has_totals, has_kernel_frames;
	uint64_t rows;
	int order;  /* enum compare_order */
	int format; /* enum emit_format */
	int color;  /* enum colour_when */
};

static const char *const orders[] = { "change", "before", "after", "name", NULL };

static const struct opt opts[] = {
	OPT_STR(0, "by", "WHAT", struct args, by, GROUPING_HELP),
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
	OPT_COLOUR(struct args, color),
	OPT_END,
};

/* One of the two profiles. */
struct side {
	const char *path;
	struct profile *profile;   /* filtered */
	struct report_facts facts; /* of the whole profile */
	double amount;             /* what its values are divided by */
};

static int64_t total_of(const struct profile *p, size_t type)
{
	return report_facts(p, type).total;
}

/* "N:M": how much work each of the two did. */
static void read_amounts(const char *text, struct side *sides)
{
	double before, after;
	char rest;

	if (sscanf(text, "%lf:%lf%c", &before, &after, &rest) == 2 && before > 0 && after > 0) {
		sides[0].amount = before;
		sides[1].amount = after;
	}
}

/* Before the filter: how much of what --normalize names this side has. */
static int measure(struct side *s, const char *normalize, struct err *e)
{
	int type = profile_find_type(s->profile, normalize);

	if (strcmp(normalize, "duration") == 0)
		s->amount = (double)profile_get_info(s->profile)->duration_ns;
	else if (type >= 0)
		s->amount = (double)total_of(s->profile, (size_t)type);
	else
		return err_usage(e, "--normalize: %s has no sample type '%s'", s->path, normalize);
	return 0;
}

static int open_side(struct side *s, const struct args *a, size_t *ret_type, struct err *e)
{
	int rc = load_profile(s->path, a->from, &a->places, &s->profile, e);

	if (rc == 0)
		rc = choose_type(s->profile, a->value, ret_type, e);
	if (rc < 0)
		return rc;
	if (!profile_type_count(s->profile))
		return err_set(e, -EINVAL, "%s: has no values to compare", s->path);
	if (a->normalize && strcmp(a->normalize, "total") != 0 && s->amount == 0) {
		rc = measure(s, a->normalize, e);
		if (rc < 0)
			return rc;
	}
	s->facts = report_facts(s->profile, *ret_type);
	rc = apply_filter(&s->profile, &a->filter, e);
	if (rc == 0 && !a->has_kernel_frames)
		rc = profile_charge_waits(&s->profile, WAIT_LEAF_NAMED, e);
	return rc;
}

static int find_factor(struct side *sides, const struct profile *diff, const char *normalize,
		       double *ret, struct err *e)
{
	*ret = 1;
	if (!normalize)
		return 0;
	if (strcmp(normalize, "total") == 0) {
		sides[0].amount = (double)total_of(diff, DIFF_BEFORE);
		sides[1].amount = (double)total_of(diff, DIFF_AFTER);
	}
	*ret = sides[1].amount / sides[0].amount;
	if (!isfinite(*ret) || *ret <= 0)
		return err_set(e, -EINVAL, "--normalize %s: from %g to %g cannot be compared",
			       normalize, sides[0].amount, sides[1].amount);
	return 0;
}

static int show(const struct profile *diff, const struct compare_opts *o, const struct args *a,
		struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct screen screen = screen_get((enum colour_when)a->color);
	const struct emit_opts emit_opts = { (enum emit_format)a->format, screen.width,
					     screen.has_color, cmd_is_verbose() };
	CLEANUP(emit_fini) struct emit out;
	int rc;

	emit_begin(&out, &emit_opts, &text);
	rc = compare_put(&out, diff, o, e);
	if (rc < 0)
		return rc;
	return emit_end(&out) < 0 ? err_nomem(e) : screen_show(&screen, &text, e);
}

static struct compare_side describe_side(const struct side *s)
{
	return (struct compare_side){
		.file = strcmp(s->path, "-") == 0 ? "standard input" : s->path,
		.facts = s->facts,
		.duration_ns = profile_get_info(s->profile)->duration_ns,
	};
}

static int compare(struct side *sides, const struct profile *diff, const struct args *a,
		   const struct grouping *g, const char *type, struct err *e)
{
	CLEANUP(buf_fini) struct buf filter = { 0 };
	bool is_all = a->format != EMIT_TABLE;
	struct compare_opts o = {
		.before = describe_side(&sides[0]),
		.after = describe_side(&sides[1]),
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
	int rc = find_factor(sides, diff, a->normalize, &o.factor, e);

	if (rc < 0)
		return rc;
	describe_filter(&a->filter, &filter);
	if (buf_error(&filter) < 0)
		return err_nomem(e);
	o.filter = filter.data;
	return show(diff, &o, a, e);
}

static int load_and_compare(struct side *sides, const struct args *a, const struct grouping *g,
			    struct err *e)
{
	struct profile *diff;
	struct value_type type;
	const char *name;
	size_t types[2];
	int rc = open_side(&sides[0], a, &types[0], e);

	if (rc == 0)
		rc = open_side(&sides[1], a, &types[1], e);
	if (rc < 0)
		return rc;
	type = profile_get_type(sides[0].profile, types[0]);
	name = profile_text(sides[0].profile, type.type);
	rc = profile_diff(sides[0].profile, sides[1].profile, name,
			  profile_text(sides[0].profile, type.unit), &diff, e);
	if (rc < 0)
		return rc;
	rc = compare(sides, diff, a, g, name, e);
	profile_free(diff);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .by = "function", .rows = ROWS_NOT_GIVEN };
	struct grouping grouping = { FRAME_BY_FUNCTION, NULL };
	struct side sides[2] = { { 0 } };
	int first, rc = cmd_parse(&cmd_diff, &args, argc, argv, &first, e);

	if (rc == 0)
		rc = grouping_parse(args.by, &grouping, e);
	if (rc < 0)
		return rc;
	if (argc - first != 2)
		return err_usage(e, "needs two files: the profile before and the one after");
	if (args.normalize)
		read_amounts(args.normalize, sides);
	sides[0].path = argv[first];
	sides[1].path = argv[first + 1];
	rc = load_and_compare(sides, &args, &grouping, e);
	profile_free(sides[0].profile);
	profile_free(sides[1].profile);
	return rc;
}

const struct cmd cmd_diff = {
	.name = "diff",
	.operands = "BEFORE AFTER",
	.summary = "compare two profiles: what costs more, what less, and what is chance",
	.verbose = "Also show source file and line, and print what is read",
	.opts = opts,
	.run = run,
};
