/* SPDX-License-Identifier: MIT */
#include "view/tables/stage_diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/compare.h"

enum { BEFORE, AFTER, SIDES };

/* A stage of either side. */
struct pair {
	const struct stage_sum *sums[SIDES]; /* NULL: not there */
	struct str group, stage;
	int64_t walls[SIDES]; /* of one record, on average */
	int64_t change;
	double z; /* NAN: unknown */
};

struct diff {
	struct emit *out;
	const struct stages *sides[SIDES];
	const struct stage_diff_opts *o;
	struct pair *pairs; /* [count] */
	size_t count;
};

static int64_t mean_wall(const struct stage_sum *sum)
{
	return sum && sum->walls.count ? sum->values[STAGE_WALL] / (int64_t)sum->walls.count : 0;
}

/* Of the mean of the records' wall times, in square seconds. NAN: too few records. */
static double variance_of_mean(const struct stage_sum *sum)
{
	double n, variance;

	if (!sum || sum->walls.count < STAGE_DIFF_RECORDS)
		return (double)NAN;
	n = (double)sum->walls.count;
	variance = (sum->wall_sum2 - sum->wall_sum * sum->wall_sum / n) / (n - 1);
	return variance > 0 ? variance / n : 0;
}

static void complete(struct pair *p)
{
	double variance = variance_of_mean(p->sums[BEFORE]) + variance_of_mean(p->sums[AFTER]);

	for (int side = 0; side < SIDES; side++)
		p->walls[side] = mean_wall(p->sums[side]);
	if (__builtin_sub_overflow(p->walls[AFTER], p->walls[BEFORE], &p->change))
		p->change = p->walls[AFTER] < 0 ? INT64_MIN : INT64_MAX;
	p->z = variance > 0 ? (double)p->change / 1e9 / sqrt(variance) : (double)NAN;
}

static struct pair make_pair(const struct stages *s, const struct stage_sum *sum, int side)
{
	struct pair p = { .group = stages_text(s, sum->group),
			  .stage = stages_text(s, sum->stage) };

	p.sums[side] = sum;
	return p;
}

/* Those of both sides and of before, then those that are new. */
static int make_pairs(struct diff *d, struct err *e)
{
	size_t before = stages_count(d->sides[BEFORE]), after = stages_count(d->sides[AFTER]);

	d->pairs = calloc(before + after + 1, sizeof *d->pairs);
	if (!d->pairs)
		return err_nomem(e);
	for (size_t i = 0; i < before; i++) {
		struct pair p =
			make_pair(d->sides[BEFORE], stages_get(d->sides[BEFORE], i), BEFORE);
		ptrdiff_t other = stages_find(d->sides[AFTER], p.group, p.stage);

		if (other >= 0)
			p.sums[AFTER] = stages_get(d->sides[AFTER], (size_t)other);
		d->pairs[d->count++] = p;
	}
	for (size_t i = 0; i < after; i++) {
		struct pair p = make_pair(d->sides[AFTER], stages_get(d->sides[AFTER], i), AFTER);

		if (stages_find(d->sides[BEFORE], p.group, p.stage) < 0)
			d->pairs[d->count++] = p;
	}
	for (size_t i = 0; i < d->count; i++)
		complete(&d->pairs[i]);
	return 0;
}

static uint64_t size_of(int64_t change)
{
	return change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
}

static int compare_pairs(const void *left, const void *right, void *diff)
{
	const struct pair *a = left, *b = right;
	const struct diff *d = diff;
	int order = 0;

	if (!d->o->is_by_name)
		order = (size_of(a->change) < size_of(b->change)) -
			(size_of(a->change) > size_of(b->change));
	if (!order)
		order = strcmp(a->stage.ptr, b->stage.ptr);
	return order ? order : strcmp(a->group.ptr, b->group.ptr);
}

static void put_side(struct emit *out, const char *key, const struct stage_sum *sum, int64_t wall)
{
	if (sum)
		emit_value(out, key, wall, "nanoseconds");
	else
		emit_none(out, key);
}

static void put_number(struct emit *out, const char *key, const struct stage_sum *sum,
		       uint64_t number)
{
	emit_hide(out);
	if (sum)
		emit_int(out, key, (int64_t)number);
	else
		emit_none(out, key);
}

static void put_chance(struct emit *out, double z)
{
	bool is_significant = fabs(z) >= COMPARE_Z;

	if (isnan(z))
		emit_none(out, "z");
	else
		emit_real(out, "z", z, 2, is_significant ? "*" : " ");
	emit_hide(out);
	if (isnan(z))
		emit_none(out, "significant");
	else
		emit_bool(out, "significant", is_significant);
}

static void put_row(const struct diff *d, const struct pair *p)
{
	const struct stage_sum *before = p->sums[BEFORE], *after = p->sums[AFTER];
	bool is_significant = fabs(p->z) >= COMPARE_Z;
	struct emit *out = d->out;

	put_side(out, "before_ns", before, p->walls[BEFORE]);
	put_side(out, "after_ns", after, p->walls[AFTER]);
	if (is_significant)
		emit_color(out, p->change < 0 ? TABLE_GOOD : TABLE_BAD);
	emit_change(out, "change_ns", p->change, "nanoseconds");
	emit_relative(out, "change_percent", p->walls[BEFORE], p->walls[AFTER]);
	put_chance(out, p->z);
	put_number(out, "before_records", before, before ? before->records : 0);
	put_number(out, "after_records", after, after ? after->records : 0);
	put_number(out, "before_calls", before, before ? (uint64_t)before->values[STAGE_CALLS] : 0);
	put_number(out, "after_calls", after, after ? (uint64_t)after->values[STAGE_CALLS] : 0);
	if (d->o->group)
		emit_optional(out, "group", p->group.ptr ? p->group.ptr : "");
	emit_name(out, "stage", "", p->stage.ptr ? p->stage.ptr : "", "");
}

static void put_head_side(const struct diff *d, int side)
{
	static const char *const keys[SIDES][4] = {
		{ "before", "before_records", "before_total_wall_ns", "before_damaged_lines" },
		{ "after", "after_records", "after_total_wall_ns", "after_damaged_lines" },
	};
	const struct stages_totals *t = stages_totals(d->sides[side]);
	uint64_t damaged = d->o->inputs[side].damaged;

	emit_head_str(d->out, keys[side][0], side == BEFORE ? d->o->before : d->o->after);
	emit_head_int(d->out, keys[side][1], (int64_t)t->records);
	if (t->has_wall)
		emit_head_value(d->out, keys[side][2], t->wall_ns, "nanoseconds");
	if (!damaged)
		emit_hide(d->out);
	emit_head_int(d->out, keys[side][3], (int64_t)damaged);
}

static void put_all(const struct diff *d)
{
	size_t shown = d->o->limit && d->o->limit < d->count ? d->o->limit : d->count;
	const struct pair nothing = { .z = (double)NAN };
	bool has_marks = false;

	put_head_side(d, BEFORE);
	put_head_side(d, AFTER);
	emit_head_str(d->out, "compared", "wall time of a stage in one record, on average");
	emit_columns(d->out);
	put_row(d, &nothing);
	for (size_t i = 0; i < shown; i++) {
		emit_row(d->out);
		put_row(d, &d->pairs[i]);
		has_marks |= fabs(d->pairs[i].z) >= COMPARE_Z;
	}
	if (shown < d->count)
		emit_note(d->out, "%zu more rows; -n 0 shows all", d->count - shown);
	if (has_marks)
		emit_note(d->out, "*: hardly by chance (z is %.0f or more)", COMPARE_Z);
}

int stage_diff(struct emit *out, const struct stages *before, const struct stages *after,
	       const struct stage_diff_opts *o, struct err *e)
{
	struct diff d = { .out = out, .sides = { before, after }, .o = o };
	int rc = make_pairs(&d, e);

	if (rc == 0) {
		qsort_r(d.pairs, d.count, sizeof *d.pairs, compare_pairs, &d);
		put_all(&d);
	}
	free(d.pairs);
	return rc;
}
