/* SPDX-License-Identifier: MIT */
#include "view/compare.h"

#include <math.h>
#include <stdlib.h>

#include "view/flat.h"
#include "view/groups.h"

#define SIDES 4 /* values and samples, before and after: enum diff_type */

struct change {
	uint32_t id;           /* row of the flat, or group */
	int64_t before, after; /* before: with the factor */
	double z;
};

struct comparison {
	const struct compare_opts *opts;
	const struct profile *diff;
	struct emit *out;
	struct flat flat;      /* when rows are frames */
	struct groups groups;  /* when they are labels */
	int64_t *sides[SIDES]; /* [id_count]; NULL: not known */
	size_t id_count;
	struct change *changes; /* [change_count] */
	size_t change_count;
	int64_t before, after; /* totals; before: with the factor */
	bool has_z;
};

double compare_z(int64_t before, int64_t after, double ratio)
{
	double expected = sqrt(ratio * ((double)before + 0.375));

	return 2 * (sqrt((double)after + 0.375) - expected) / sqrt(1 + ratio);
}

static int64_t scale(int64_t value, double factor)
{
	double scaled = (double)value * factor;

	if (factor == 1)
		return value;
	if (scaled >= 0x1p63)
		return INT64_MAX;
	return scaled < -0x1p63 ? INT64_MIN : (int64_t)llround(scaled);
}

static size_t side_count(const struct comparison *c)
{
	return profile_type_count(c->diff);
}

static int read_frames(struct comparison *c, struct err *e)
{
	for (size_t side = 0; side < side_count(c); side++) {
		int rc = flat_recount(&c->flat, side, e);

		if (rc < 0)
			return rc;
		for (size_t i = 0; i < c->id_count; i++)
			c->sides[side][i] =
				c->opts->has_totals ? c->flat.rows[i].total : c->flat.rows[i].self;
		c->sides[side][FLAT_ROOT] = 0; /* the sum of all, not one of them */
	}
	return 0;
}

static int init_rows(struct comparison *c, struct err *e)
{
	const struct compare_opts *o = c->opts;

	if (o->label) {
		int rc = groups_init(&c->groups, c->diff, o->label, DIFF_AFTER, e);

		c->id_count = c->groups.count;
		return rc;
	}
	c->id_count = 0;
	if (flat_init(&c->flat, c->diff, o->by, DIFF_BEFORE, -1, e) < 0)
		return e->code;
	c->id_count = c->flat.row_count;
	return 0;
}

static int read_sides(struct comparison *c, struct err *e)
{
	int rc = init_rows(c, e);

	for (size_t side = 0; rc == 0 && side < side_count(c); side++) {
		c->sides[side] = calloc(c->id_count + 1, sizeof **c->sides);
		if (!c->sides[side])
			rc = err_nomem(e);
	}
	if (rc < 0 || !c->opts->label)
		return rc < 0 ? rc : read_frames(c, e);
	for (size_t side = 0; side < side_count(c); side++)
		groups_sum(&c->groups, side, c->sides[side]);
	return 0;
}

static int64_t total_of(const struct comparison *c, enum diff_type type)
{
	int64_t total = 0;

	for (size_t i = 0; i < profile_sample_count(c->diff); i++)
		total = stacks_add(total, profile_get_sample(c->diff, i).values[type]);
	return total;
}

/* How many samples after stand for one before, if nothing changed but the factor. 0: unknown. */
static double sample_ratio(const struct comparison *c)
{
	double values = (double)total_of(c, DIFF_BEFORE) / (double)total_of(c, DIFF_AFTER);
	double samples = 0, ratio;

	if (profile_diff_has_samples(c->diff))
		samples = (double)total_of(c, DIFF_AFTER_SAMPLES) /
			  (double)total_of(c, DIFF_BEFORE_SAMPLES);
	ratio = c->opts->factor * values * samples;
	return isfinite(ratio) && ratio > 0 ? ratio : 0;
}

static int find_changes(struct comparison *c, struct err *e)
{
	double ratio = sample_ratio(c);

	c->has_z = ratio > 0;
	c->before = scale(total_of(c, DIFF_BEFORE), c->opts->factor);
	c->after = total_of(c, DIFF_AFTER);
	c->changes = calloc(c->id_count + 1, sizeof *c->changes);
	if (!c->changes)
		return err_nomem(e);
	for (uint32_t i = 0; i < c->id_count; i++) {
		int64_t before = c->sides[DIFF_BEFORE][i], after = c->sides[DIFF_AFTER][i];
		struct change *change = &c->changes[c->change_count];

		if (!before && !after)
			continue;
		*change = (struct change){ i, scale(before, c->opts->factor), after, 0 };
		if (c->has_z)
			change->z = compare_z(c->sides[DIFF_BEFORE_SAMPLES][i],
					      c->sides[DIFF_AFTER_SAMPLES][i], ratio);
		c->change_count++;
	}
	return 0;
}

static int64_t change_of(const struct change *change)
{
	return stacks_add(change->after, change->before == INT64_MIN ? INT64_MAX : -change->before);
}

static uint64_t size_of(const struct change *change)
{
	int64_t value = change_of(change);

	return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static int compare_changes(const void *left, const void *right, void *comparison)
{
	const struct comparison *c = comparison;
	const struct change *a = left, *b = right;
	int order = 0;

	switch (c->opts->order) {
	case COMPARE_BY_CHANGE:
		order = (size_of(a) < size_of(b)) - (size_of(a) > size_of(b));
		break;
	case COMPARE_BY_BEFORE:
		order = (a->before < b->before) - (a->before > b->before);
		break;
	case COMPARE_BY_AFTER:
		order = (a->after < b->after) - (a->after > b->after);
		break;
	case COMPARE_BY_NAME:
		break;
	}
	if (order)
		return order;
	return c->opts->label ? groups_compare(&c->groups, a->id, b->id)
			      : flat_compare_names(&c->flat, a->id, b->id);
}

static const char *state_of(const struct change *change)
{
	if (!change->before)
		return "new";
	if (!change->after)
		return "gone";
	return change->before == change->after ? "same" : "changed";
}

static void put_significance(struct comparison *c, const struct change *change)
{
	bool is_significant = fabs(change->z) >= COMPARE_Z;

	if (c->has_z)
		emit_real(c->out, "z", change->z, 2, is_significant ? "*" : " ");
	else
		emit_none(c->out, "z");
	emit_hide(c->out);
	if (c->has_z)
		emit_bool(c->out, "significant", is_significant);
	else
		emit_none(c->out, "significant");
}

static void put_row(struct comparison *c, const struct change *change)
{
	static const struct group nothing = { .comm = 0 };
	const char *unit = report_unit(c->diff, DIFF_AFTER);
	int64_t value = change_of(change);

	emit_value(c->out, "before", change->before, unit);
	emit_value(c->out, "after", change->after, unit);
	if (!c->has_z || fabs(change->z) >= COMPARE_Z)
		emit_color(c->out, value < 0 ? TABLE_GOOD : value > 0 ? TABLE_BAD : TABLE_PLAIN);
	emit_change(c->out, "change", value, unit);
	emit_relative(c->out, "change_percent", change->before, change->after);
	put_significance(c, change);
	emit_color(c->out, TABLE_FAINT);
	emit_percent(c->out, "before_percent", change->before, c->before);
	emit_color(c->out, TABLE_FAINT);
	emit_percent(c->out, "after_percent", change->after, c->after);
	emit_hide(c->out);
	emit_text(c->out, "state", state_of(change));
	if (!c->opts->label)
		report_put_names(c->out, &c->flat, change->id);
	else
		groups_put_names(&c->groups,
				 c->groups.count ? &c->groups.list[change->id] : &nothing, c->out);
}

static void put_side(struct emit *out, const struct compare_side *s, const char *const *keys)
{
	emit_head_str(out, keys[0], s->file);
	if (s->duration_ns)
		emit_head_value(out, keys[1], s->duration_ns, "nanoseconds");
	if (s->facts.samples >= 0) {
		emit_head_int(out, keys[2], s->facts.samples);
		if (!s->facts.lost)
			emit_hide(out);
		emit_head_int(out, keys[3], s->facts.lost);
	}
}

static void put_head(struct comparison *c)
{
	static const char *const before[] = { "before", "before_duration_ns", "before_samples",
					      "before_lost" };
	static const char *const after[] = { "after", "after_duration_ns", "after_samples",
					     "after_lost" };
	const struct compare_opts *o = c->opts;
	const char *unit = report_unit(c->diff, DIFF_AFTER);

	put_side(c->out, &o->before, before);
	put_side(c->out, &o->after, after);
	emit_head_str(c->out, "type", o->type);
	emit_hide(c->out);
	emit_head_str(c->out, "unit", unit);
	if (o->filter)
		emit_head_str(c->out, "filter", o->filter);
	if (o->normalized) {
		emit_head_str(c->out, "normalized_by", o->normalized);
		emit_head_real(c->out, "before_factor", o->factor);
	}
	emit_head_value(c->out, "before_total", c->before, unit);
	emit_head_value(c->out, "after_total", c->after, unit);
}

static void put_rows(struct comparison *c)
{
	size_t limit = c->opts->limit;
	size_t shown = limit && limit < c->change_count ? limit : c->change_count;
	bool has_marks = false;

	for (size_t i = 0; i < shown; i++) {
		emit_row(c->out);
		put_row(c, &c->changes[i]);
		has_marks |= c->has_z && fabs(c->changes[i].z) >= COMPARE_Z;
	}
	if (shown < c->change_count)
		emit_note(c->out, "%zu more rows; -n 0 shows all", c->change_count - shown);
	if (has_marks)
		emit_note(c->out, "*: hardly by chance (z is %.0f or more)", COMPARE_Z);
}

static void comparison_fini(struct comparison *c)
{
	flat_fini(&c->flat);
	groups_fini(&c->groups);
	for (size_t i = 0; i < SIDES; i++)
		free(c->sides[i]);
	free(c->changes);
}

int compare_put(struct emit *out, const struct profile *diff, const struct compare_opts *o,
		struct err *e)
{
	struct comparison c = { .opts = o, .diff = diff, .out = out };
	int rc = read_sides(&c, e);

	if (rc == 0)
		rc = find_changes(&c, e);
	if (rc == 0) {
		qsort_r(c.changes, c.change_count, sizeof *c.changes, compare_changes, &c);
		put_head(&c);
		emit_columns(out);
		put_row(&c, &(struct change){ 0 });
		put_rows(&c);
	}
	comparison_fini(&c);
	return rc;
}
