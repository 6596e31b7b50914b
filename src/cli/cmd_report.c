/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "cli/cmd.h"
#include "cli/grouping.h"
#include "cli/profile_opts.h"
#include "cli/screen.h"
#include "model/script_frames.h"
#include "model/wait_frames.h"
#include "source/inputs.h"
#include "source/load.h"
#include "view/emit.h"
#include "view/report.h"

#define DEFAULT_ROWS 40
#define ROWS_NOT_GIVEN UINT64_MAX
#define ORDER_NOT_GIVEN (-1)
#define MIN_PERCENT_NOT_GIVEN (-1)
#define DEFAULT_MIN_PERCENT 0.5

struct args {
	struct filter_args filter;
	struct binaries_args places;
	const char *by, *callers, *callees, *value, *from, *classes;
	bool is_tree, is_imbalance, has_kernel_frames, addrs;
	double min_percent;
	uint64_t rows;
	int order;    /* enum flat_order */
	int format;   /* enum emit_format */
	int color;    /* enum color_when */
	int language; /* index of languages */
};

static const char *const languages[] = { "all", "python", NULL };
static const char *const orders[] = { "self", "total", "name", NULL };

static const struct opt opts[] = {
	OPT_STR(0, "by", "WHAT", struct args, by, GROUPING_HELP),
	OPT_CLASSES(struct args, classes),
	OPT_FLAG(0, "imbalance", struct args, is_imbalance,
		 "Show how unevenly the ranks of a job work, and what that costs"),
	OPT_FLAG(0, "tree", struct args, is_tree,
		 "Show who calls whom, from the outermost function inwards"),
	OPT_REAL(0, "min-percent", "P", struct args, min_percent, 0, 100,
		 "Leave out of the tree what has less of the total [default 0.5]"),
	OPT_STR(0, "callers", "FUNC", struct args, callers,
		"Show who calls FUNC: a name, or a regular expression"),
	OPT_STR(0, "callees", "FUNC", struct args, callees, "Show what FUNC calls"),
	OPT_INCLUDE(struct args, filter, filter_opts),
	OPT_KERNEL_FRAMES(struct args, has_kernel_frames),
	OPT_CHOICE(0, "lang", "all|python", struct args, language, languages,
		   "Show only the functions of this language, with what they called [default all]"),
	OPT_INCLUDE(struct args, places, places_opts),
	OPT_FLAG(0, "addrs", struct args, addrs, "Show the addresses of code without a name"),
	OPT_STR(0, "value", "TYPE", struct args, value,
		"Show this sample type [default: the one that the profile names]"),
	OPT_STR(0, "from", "FORMAT", struct args, from,
		"Read FILE as this format [default: by its content]"),
	OPT_UINT('n', "rows", "N", struct args, rows, 0, UINT64_MAX - 1,
		 "Show N rows, 0 for all [default 40; all of CSV and JSON]"),
	OPT_CHOICE(0, "sort", "self|total|name", struct args, order, orders,
		   "Sort rows by this [default self; total in a tree]"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Write the rows as a table, CSV or JSON [default table]"),
	OPT_COLOR(struct args, color),
	OPT_END,
};

static bool is_by_rank(const struct grouping *g)
{
	return g->label && strcmp(g->label, "rank") == 0;
}

static int check_usage(const struct args *a, const struct grouping *g, struct err *e)
{
	bool is_edges = a->callers || a->callees;

	if (a->classes && !g->is_class && !is_by_rank(g) && !a->is_imbalance)
		return err_usage(e, "--classes goes with --by class, --by rank and --imbalance");
	if (a->is_imbalance && (a->is_tree || is_edges || g->label))
		return err_usage(e, "--imbalance goes with --by function, line, address or module, "
				    "and not with --tree, --callers and --callees");
	if (a->addrs && (g->label || g->by != FRAME_BY_FUNCTION))
		return err_usage(e, "--addrs goes with --by function");
	if (a->min_percent >= 0 && !a->is_tree)
		return err_usage(e, "--min-percent goes with --tree");
	if (a->is_tree && is_edges)
		return err_usage(e, "--tree cannot be combined with --callers and --callees");
	if (g->label && (a->is_tree || is_edges))
		return err_usage(e,
				 "--by %s cannot be combined with --tree, --callers and --callees",
				 a->by);
	return 0;
}

static int put_report(struct emit *out, const struct profile *p, const struct args *a,
		      const struct grouping *g, const struct report_opts *o, struct err *e)
{
	if (a->is_imbalance)
		return report_imbalance(out, p, o, g->by, e);
	if (a->is_tree)
		return report_tree(out, p, o, g->by,
				   a->min_percent < 0 ? DEFAULT_MIN_PERCENT : a->min_percent, e);
	if (a->callers || a->callees) {
		int rc = report_edges(out, p, o, g->by, a->callers, a->callees, e);
		const struct err reason = *e;

		return rc == -EINVAL ? err_usage(e, "%s", reason.msg) : rc;
	}
	if (is_by_rank(g))
		return report_ranks(out, p, o, e);
	if (g->label)
		return report_labels(out, p, o, g->label, e);
	return report_flat(out, p, o, g->by, e);
}

static struct report_opts make_opts(const struct args *a, const struct buf *file,
				    const struct buf *filter)
{
	uint64_t default_rows = a->format == EMIT_TABLE ? DEFAULT_ROWS : 0;
	uint64_t rows = a->rows != ROWS_NOT_GIVEN ? a->rows : default_rows;
	enum flat_order order = a->is_tree ? FLAT_BY_TOTAL : FLAT_BY_SELF;

	return (struct report_opts){
		.file = file->data,
		.filter = filter->len ? filter->data : NULL,
		.limit = (size_t)rows,
		.order = a->order == ORDER_NOT_GIVEN ? order : (enum flat_order)a->order,
	};
}

static int show(const struct profile *p, const struct args *a, const struct grouping *g,
		const struct report_opts *o, struct err *e)
{
	CLEANUP(screen_rows_fini) struct screen_rows rows;
	int rc;

	screen_rows_begin(&rows, a->format, a->color);
	rc = put_report(&rows.out, p, a, g, o, e);
	return rc < 0 ? rc : screen_rows_end(&rows, e);
}

static int report(struct profile **p, const struct inputs *in, const struct args *a,
		  const struct grouping *g, struct err *e)
{
	CLEANUP(buf_fini) struct buf filter = { 0 }, file = { 0 };
	bool is_list = !a->is_tree && !a->callers && !a->callees;
	struct report_opts o;
	int rc;

	describe_filter(&a->filter, &filter);
	inputs_describe(in, &file);
	if (buf_error(&filter) < 0 || buf_error(&file) < 0)
		return err_nomem(e);
	o = make_opts(a, &file, &filter);
	o.is_sum = in->count > 1;
	rc = choose_type(*p, a->value, &o.type, e);
	if (rc < 0)
		return rc;
	if (!profile_type_count(*p))
		return err_set(e, -EINVAL, "%s: has no values to show", o.file);
	o.facts = report_facts(*p, o.type);
	if (g->label && !g->is_class)
		warn_absent_label(*p, g->label);
	if (g->is_class || is_by_rank(g) || a->is_imbalance) {
		rc = grouping_label_classes(p, a->classes, e);
		if (rc < 0)
			return rc;
	}
	rc = apply_filter(p, &a->filter, e);
	if (rc == 0 && !a->has_kernel_frames)
		rc = profile_charge_waits(p, is_list ? WAIT_LEAF_NAMED : WAIT_LEAF_REASON, e);
	if (rc == 0 && a->language)
		rc = profile_keep_scripts(p, e);
	return rc < 0 ? rc : show(*p, a, g, &o, e);
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .by = "function",
			     .min_percent = MIN_PERCENT_NOT_GIVEN,
			     .rows = ROWS_NOT_GIVEN,
			     .order = ORDER_NOT_GIVEN };
	struct grouping grouping = { 0 };
	CLEANUP(inputs_close) struct inputs in = { 0 };
	struct inputs_opts o = { .places = &args.places };
	struct profile *p;
	int first, rc = cmd_parse(&cmd_report, &args, argc, argv, &first, e);

	if (rc == 0)
		rc = grouping_parse(args.by, &grouping, e);
	if (rc == 0)
		rc = check_usage(&args, &grouping, e);
	if (rc < 0)
		return rc;
	if (args.addrs)
		grouping.by = FRAME_BY_NAME_OR_ADDRESS;
	o.from = args.from;
	rc = inputs_open(&in, argv + first, (size_t)(argc - first), NULL, e);
	if (rc == 0)
		rc = inputs_load(&in, &o, &p, e);
	if (rc < 0)
		return rc;
	rc = report(&p, &in, &args, &grouping, e);
	profile_free(p);
	return rc;
}

const struct cmd cmd_report = {
	.name = "report",
	.operands = "[FILE|FOLDER...]",
	.summary = "show a profile as tables: functions, callers, callees, tree, threads",
	.verbose = "Also show source file and line, and print what is read",
	.opts = opts,
	.run = run,
};
