/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/rows.h"
#include "view/activity.h"
#include "view/groups.h"
#include "view/report.h"

/* The value of a row on one rank. */
struct cell {
	uint32_t row, group;
	int64_t value;
};

/* A row over all ranks. */
struct spread {
	int64_t sum, max, min, saved;
	double squares;
	uint32_t max_group;
	uint32_t ranks; /* that have it */
	uint32_t seen;  /* the last sample whose stack has it, from 1 */
};

struct imbalance {
	struct flat flat;
	struct groups groups; /* ranks, and what has none */
	uint32_t rank_count;
	size_t type;
	bool is_total; /* values with what a function calls */
	struct map at; /* row and group: index of cells */
	struct rows cells;
	struct spread *spreads; /* [flat.row_count] */
	uint32_t *order;        /* [order_count]: rows to be shown */
	size_t order_count;
	size_t chance_count; /* rows that are left out, because chance may be all there is */
	int64_t waited;
	double period; /* of the values between two samples; 0: unknown */
};

static void imbalance_fini(struct imbalance *b)
{
	flat_fini(&b->flat);
	groups_fini(&b->groups);
	map_fini(&b->at);
	rows_fini(&b->cells);
	free(b->spreads);
	free(b->order);
}

static bool is_rank(const struct imbalance *b, uint32_t group)
{
	return b->groups.list[group].labels[0].key != 0;
}

static int add_value(struct imbalance *b, uint32_t row, uint32_t group, int64_t value)
{
	uint32_t *index = map_at(&b->at, map_pair(row, group));
	struct cell *cell;

	if (!index)
		return -ENOMEM;
	if (*index == MAP_NONE) {
		*index = (uint32_t)b->cells.count;
		cell = rows_add(&b->cells, sizeof *cell);
		if (!cell)
			return -ENOMEM;
		cell->row = row;
		cell->group = group;
	}
	cell = (struct cell *)b->cells.data + *index;
	cell->value = stacks_add(cell->value, value);
	return 0;
}

static int add_frames(struct imbalance *b, uint32_t node, uint32_t group, int64_t value,
		      uint32_t sample)
{
	uint32_t location = profile_get_node(b->flat.frames.profile, node).location;
	size_t count;
	const uint32_t *frames = frames_of(&b->flat.frames, location, &count);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < (b->is_total ? count : 1); i++) {
		uint32_t row = b->flat.row_of[frames[i]];

		if (b->spreads[row].seen != sample)
			rc = add_value(b, row, group, value);
		b->spreads[row].seen = sample;
	}
	return rc;
}

static bool is_waiting(const struct profile *p, uint32_t labels)
{
	const struct label *class = profile_find_label(p, labels, ACTIVITY_LABEL);

	return class && activity_is_waiting(profile_text(p, class->str));
}

static int add_samples(struct imbalance *b, const struct profile *p)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		uint32_t group = b->groups.of_labels[s.labels], node = s.node;
		int64_t value = s.values[b->type];

		if (!value || !is_rank(b, group))
			continue;
		if (is_waiting(p, s.labels)) {
			b->waited = stacks_add(b->waited, value);
			continue;
		}
		do {
			rc = add_frames(b, node, group, value, (uint32_t)i + 1);
			node = node ? profile_get_node(p, node).parent : 0;
		} while (rc == 0 && b->is_total && node);
	}
	return rc;
}

static void sum_cells(struct imbalance *b)
{
	const struct cell *cells = b->cells.data;

	for (size_t i = 0; i < b->cells.count; i++) {
		struct spread *s = &b->spreads[cells[i].row];
		int64_t value = cells[i].value;

		if (!s->ranks || value > s->max) {
			s->max = value;
			s->max_group = cells[i].group;
		}
		if (!s->ranks || value < s->min)
			s->min = value;
		s->ranks++;
		s->sum = stacks_add(s->sum, value);
		s->squares += (double)value * (double)value;
	}
}

static void choose_rows(struct imbalance *b)
{
	for (uint32_t i = FLAT_ROOT + 1; i < b->flat.row_count; i++) {
		struct spread *s = &b->spreads[i];
		double mean = (double)s->sum / b->rank_count;

		if (!s->ranks)
			continue;
		if (s->ranks < b->rank_count) { /* 0 on the others */
			s->min = s->min < 0 ? s->min : 0;
			s->max = s->max > 0 ? s->max : 0;
		}
		if (__builtin_mul_overflow(s->max, (int64_t)b->rank_count, &s->saved) ||
		    __builtin_sub_overflow(s->saved, s->sum, &s->saved))
			s->saved = INT64_MAX;
		if (s->saved > 0 &&
		    (double)s->max - mean > report_chance(b->rank_count, mean, b->period))
			b->order[b->order_count++] = i;
		else
			b->chance_count += s->saved > 0;
	}
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct imbalance *b = context;
	const uint32_t *x = left, *y = right;
	const struct spread *s = &b->spreads[*x], *t = &b->spreads[*y];
	int order = (s->saved < t->saved) - (s->saved > t->saved);

	return order ? order : flat_compare_names(&b->flat, *x, *y);
}

static int count_ranks(struct imbalance *b, const struct profile *p, struct err *e)
{
	int rc = groups_init(&b->groups, p, "rank", b->type, e);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < b->groups.count; i++)
		b->rank_count += is_rank(b, i);
	if (b->rank_count < 2)
		return err_set(e, -ENODATA,
			       "--imbalance: the samples are not of several ranks: they need the "
			       "label rank, as 'auger record' under a launcher sets it");
	return 0;
}

static int imbalance_init(struct imbalance *b, const struct profile *p, enum frame_by by,
			  struct err *e)
{
	int rc = count_ranks(b, p, e);

	if (rc == 0)
		rc = flat_init(&b->flat, p, by, b->type, -1, e);
	if (rc < 0)
		return rc;
	b->spreads = calloc(b->flat.row_count, sizeof *b->spreads);
	b->order = calloc(b->flat.row_count, sizeof *b->order);
	if (!b->spreads || !b->order || add_samples(b, p) < 0)
		return err_nomem(e);
	sum_cells(b);
	choose_rows(b);
	qsort_r(b->order, b->order_count, sizeof *b->order, compare_rows, b);
	return 0;
}

/* Of a value that is not negative. */
static int64_t round_down(double value)
{
	return value < 9e18 ? (int64_t)value : INT64_MAX;
}

static void put_rank(struct emit *out, const struct profile *p, const struct label *rank)
{
	char number[32];

	snprintf(number, sizeof number, "%" PRId64, rank->num);
	emit_text(out, "max_rank", rank->str ? profile_text(p, rank->str) : number);
}

static void put_row(const struct imbalance *b, struct emit *out, uint32_t row, const char *unit)
{
	const struct profile *p = b->flat.frames.profile;
	const struct spread *s = &b->spreads[row];
	double mean = (double)s->sum / b->rank_count;
	double variance = s->squares / b->rank_count - mean * mean;

	emit_value(out, "saved", s->saved, unit);
	emit_percent(out, "saved_percent", s->saved, b->flat.rows[FLAT_ROOT].total);
	emit_value(out, "mean", (int64_t)mean, unit);
	emit_value(out, "max", s->max, unit);
	put_rank(out, p, &b->groups.list[s->max_group].labels[0]);
	emit_value(out, "min", s->min, unit);
	emit_value(out, "sigma", round_down(sqrt(fmax(variance, 0))), unit);
	report_put_names(out, &b->flat, row);
}

static void put_rows(const struct imbalance *b, struct emit *out, const struct report_opts *o,
		     const char *unit)
{
	size_t shown = o->limit && o->limit < b->order_count ? o->limit : b->order_count;

	emit_columns(out);
	put_row(b, out, FLAT_ROOT, unit);
	for (size_t i = 0; i < shown; i++) {
		emit_row(out);
		put_row(b, out, b->order[i], unit);
	}
	if (shown < b->order_count)
		emit_note(out, "%zu more rows", b->order_count - shown);
	if (b->chance_count)
		emit_note(out, "%zu rows differ by no more than chance", b->chance_count);
}

int report_imbalance(struct emit *out, const struct profile *p, const struct report_opts *o,
		     enum frame_by by, struct err *e)
{
	struct imbalance b = { .type = o->type,
			       .is_total = o->order == FLAT_BY_TOTAL,
			       .period = report_period(p, o->type) };
	const char *unit = report_unit(p, o->type);
	int rc = imbalance_init(&b, p, by, e);

	if (rc == 0) {
		report_put_head(out, p, o);
		emit_head_int(out, "ranks", b.rank_count);
		emit_head_value(out, "waited", b.waited, unit);
		put_rows(&b, out, o, unit);
	}
	imbalance_fini(&b);
	return rc;
}
