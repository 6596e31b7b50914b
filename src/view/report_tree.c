/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "view/report.h"
#include "view/tree.h"

#define LINE_DOWN "│ " /* more siblings follow */
#define LINE_FORK "├ " /* a sibling that is not the last */
#define LINE_LAST "└ "
#define LINE_NONE "  "
#define MAX_PREFIX 400 /* bytes: about a hundred forks above each other */

/* A node that waits to be shown. The lines of the tree before its name are the first
 * prefix_len bytes of the printer's prefix. */
struct pending {
	uint32_t node;
	uint32_t rank; /* among its siblings, by name */
	uint32_t prefix_len;
	bool has_siblings; /* that are shown; else it stands right below its caller */
	bool is_last;      /* of its siblings */
};

struct printer {
	struct emit *out;
	struct tree tree;
	const char *unit;
	double min_percent; /* of the total */
	double least;       /* the same; totals nearer to 0 are left out */
	bool *is_chosen;    /* [node_count]: of the largest totals; NULL: all are */
	enum flat_order order;
	struct buf prefix;
	struct pending *pending; /* [pending_count]: a stack */
	size_t pending_count, pending_cap;
};

static bool is_shown(const struct printer *t, uint32_t node)
{
	if (t->is_chosen && !t->is_chosen[node])
		return false;
	return node == 0 || fabs((double)t->tree.nodes[node].total) >= t->least;
}

/* The largest totals first; callers before those they call, which have larger numbers. */
static int compare_total(const void *left, const void *right, void *nodes)
{
	uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
	double a = fabs((double)((struct tree_node *)nodes)[x].total);
	double b = fabs((double)((struct tree_node *)nodes)[y].total);

	return a != b ? (a < b) - (a > b) : (x > y) - (x < y);
}

/* A tree of so many nodes, not the first ones of a larger tree. */
static int choose(struct printer *t, size_t limit)
{
	uint32_t *order = calloc(t->tree.node_count, sizeof *order);

	t->is_chosen = calloc(t->tree.node_count, sizeof *t->is_chosen);
	if (!order || !t->is_chosen) {
		free(order);
		return -1;
	}
	for (uint32_t i = 0; i < t->tree.node_count; i++)
		order[i] = i;
	qsort_r(order, t->tree.node_count, sizeof *order, compare_total, t->tree.nodes);
	for (size_t i = 0; i < limit; i++)
		t->is_chosen[order[i]] = true;
	t->is_chosen[0] = true;
	free(order);
	return 0;
}

/* What is to be shown first comes last: the stack is taken from its end. */
static int compare_pending(const void *left, const void *right, void *printer)
{
	const struct printer *t = printer;
	const struct pending *x = left, *y = right;
	const struct tree_node *a = &t->tree.nodes[x->node], *b = &t->tree.nodes[y->node];
	int by_self = (a->self > b->self) - (a->self < b->self);
	int by_total = (a->total > b->total) - (a->total < b->total);
	int order = 0;

	if (t->order == FLAT_BY_SELF)
		order = by_self ? by_self : by_total;
	else if (t->order == FLAT_BY_TOTAL)
		order = by_total;
	return order ? order : (x->rank < y->rank) - (x->rank > y->rank);
}

static int push(struct printer *t, const struct pending *node)
{
	if (t->pending_count == t->pending_cap) {
		size_t cap = t->pending_cap ? 2 * t->pending_cap : 256;
		struct pending *pending = reallocarray(t->pending, cap, sizeof *pending);

		if (!pending)
			return -1;
		t->pending = pending;
		t->pending_cap = cap;
	}
	t->pending[t->pending_count++] = *node;
	return 0;
}

/* Children come in order of their names: that is their rank. */
static int push_children(struct printer *t, uint32_t node)
{
	size_t begin = t->pending_count, count;
	uint32_t child = t->tree.nodes[node].first_child;

	for (uint32_t rank = 0; child; child = t->tree.nodes[child].next_sibling, rank++)
		if (is_shown(t, child) &&
		    push(t, &(struct pending){ .node = child,
					       .rank = rank,
					       .prefix_len = (uint32_t)t->prefix.len }) < 0)
			return -1;
	count = t->pending_count - begin;
	if (count < 2)
		return 0;
	qsort_r(t->pending + begin, count, sizeof *t->pending, compare_pending, t);
	for (size_t i = 0; i < count; i++)
		t->pending[begin + i].has_siblings = true;
	t->pending[begin].is_last = true;
	return 0;
}

/* A function that calls only itself again is one row for all these calls. */
struct run {
	uint32_t first, last; /* nodes */
	uint32_t count;
	int64_t self; /* of all of them */
};

/* The only child of a node that is shown, 0: there is none or more than one. */
static uint32_t only_child(const struct printer *t, uint32_t node)
{
	uint32_t only = 0;

	for (uint32_t c = t->tree.nodes[node].first_child; c; c = t->tree.nodes[c].next_sibling) {
		if (!is_shown(t, c))
			continue;
		if (only)
			return 0;
		only = c;
	}
	return only;
}

static struct run find_run(const struct printer *t, uint32_t node)
{
	const struct tree_node *nodes = t->tree.nodes;
	struct run run = { node, node, 1, nodes[node].self };

	for (;;) {
		uint32_t child = only_child(t, run.last);

		if (!child || nodes[child].frame != nodes[node].frame)
			return run;
		run.last = child;
		run.count++;
		run.self = stacks_add(run.self, nodes[child].self);
	}
}

static void put_function(struct printer *t, const struct frame *frame, const struct run *run)
{
	char suffix[48] = "";

	if (run->count > 1)
		snprintf(suffix, sizeof suffix, " (%s×%" PRIu32 ")",
			 frame->is_inlined ? "inlined, " : "", run->count);
	else if (frame->is_inlined)
		snprintf(suffix, sizeof suffix, " (inlined)");
	emit_name(t->out, "function", t->prefix.len ? t->prefix.data : "",
		  tree_name(&t->tree, run->first), suffix);
}

static void put_row(struct printer *t, const struct run *run)
{
	const struct tree_node *n = &t->tree.nodes[run->first];
	const struct frame *frame = tree_frame(&t->tree, run->first);
	int64_t whole = t->tree.nodes[0].total;

	emit_hide(t->out);
	emit_int(t->out, "depth", n->depth);
	emit_value(t->out, "total", n->total, t->unit);
	emit_percent(t->out, "total_percent", n->total, whole);
	emit_value(t->out, "self", run->self, t->unit);
	emit_percent(t->out, "self_percent", run->self, whole);
	put_function(t, frame, run);
	emit_color(t->out, TABLE_FAINT);
	emit_optional(t->out, "module", frames_text(&t->tree.frames, frame->module));
	emit_hide(t->out);
	emit_text(t->out, "inlined", frame->is_inlined ? "yes" : "no");
	emit_hide(t->out);
	emit_int(t->out, "repeats", run->count);
}

/* Shows a node; leaves the prefix that its children's begin with. */
static void put_pending(struct printer *t, const struct pending *node, const struct run *run)
{
	t->prefix.len = node->prefix_len;
	if (t->prefix.data)
		t->prefix.data[t->prefix.len] = '\0';
	if (!node->has_siblings) {
		put_row(t, run);
		return;
	}
	if (node->prefix_len > MAX_PREFIX) {
		put_row(t, run);
		return;
	}
	buf_put_str(&t->prefix, node->is_last ? LINE_LAST : LINE_FORK);
	put_row(t, run);
	t->prefix.len = node->prefix_len;
	buf_put_str(&t->prefix, node->is_last ? LINE_NONE : LINE_DOWN);
}

/* kept: nodes with enough of the total; shown: those of them that rows stand for. */
static void put_notes(struct printer *t, size_t kept, size_t shown)
{
	size_t left_out = t->tree.node_count - kept;

	if (kept > shown)
		emit_note(t->out, "%zu more frame%s; -n 0 shows all", kept - shown,
			  kept - shown == 1 ? "" : "s");
	if (left_out)
		emit_note(t->out, "%zu frame%s with less than %g%% left out", left_out,
			  left_out == 1 ? "" : "s", t->min_percent);
}

static int put_rows(struct printer *t, size_t limit)
{
	size_t frames = 0, kept = 0;

	for (uint32_t i = 0; i < t->tree.node_count; i++)
		kept += is_shown(t, i);
	if (limit && limit < t->tree.node_count && choose(t, limit) < 0)
		return -1;
	if (push(t, &(struct pending){ 0 }) < 0)
		return -1;
	while (t->pending_count) {
		struct pending next = t->pending[--t->pending_count];
		struct run run = find_run(t, next.node);

		emit_row(t->out);
		put_pending(t, &next, &run);
		frames += run.count;
		if (buf_error(&t->prefix) < 0 || push_children(t, run.last) < 0)
			return -1;
	}
	put_notes(t, kept, frames);
	return 0;
}

int report_tree(struct emit *out, const struct profile *p, const struct report_opts *o,
		enum frame_by by, double min_percent, struct err *e)
{
	struct printer printer = { .out = out,
				   .unit = report_unit(p, o->type),
				   .min_percent = min_percent,
				   .order = o->order };
	const struct tree_opts tree_opts = { .type = o->type, .by = by };
	int rc = tree_build(&printer.tree, p, &tree_opts, e);

	if (rc < 0)
		return rc;
	printer.least = fabs((double)printer.tree.nodes[0].total) * min_percent / 100;
	report_put_head(out, p, o);
	emit_columns(out);
	put_row(&printer, &(struct run){ .count = 1 });
	if (put_rows(&printer, o->limit) < 0)
		rc = err_nomem(e);
	buf_fini(&printer.prefix);
	free(printer.pending);
	free(printer.is_chosen);
	tree_fini(&printer.tree);
	return rc;
}
