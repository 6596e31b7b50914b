/* SPDX-License-Identifier: MIT */
#include "view/compare.h"

#include <math.h>
#include <stdlib.h>

#include "view/clumps.h"
#include "view/flat.h"
#include "view/groups.h"
#include "view/run_change.h"

struct change {
	uint32_t id;           /* row of the flat, or group */
	int64_t before, after; /* with the factors; means of a run */
	double z;
};

struct comparison {
	const struct compare_opts *opts;
	const struct profile *diff;
	struct emit *out;
	struct flat flat;                  /* when rows are frames */
	struct groups groups;              /* when they are labels */
	int64_t *sides[PROFILE_MAX_TYPES]; /* [id_count], by type: enum diff_type, runs */
	size_t id_count;
	struct change *changes; /* [change_count] */
	size_t change_count;
	int64_t before, after; /* totals, as those of a change */
	double *clumps[2];     /* [id_count], of the only run of a side: see clumps.h; NULL: none */
	bool has_runs;         /* several on a side */
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

static int64_t total_of(const struct comparison *c, size_t type)
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
	ratio = c->opts->before.factors[0] * values * samples;
	return isfinite(ratio) && ratio > 0 ? ratio : 0;
}

/* The runs of a side, in the order of their sample types from first on. */
struct side_runs {
	const struct compare_side *side;
	size_t first;
};

static struct run_values values_of(const struct comparison *c, const struct side_runs *s,
				   int64_t (*get)(const struct comparison *, size_t, uint32_t),
				   uint32_t id, double *values)
{
	for (size_t i = 0; i < s->side->runs; i++)
		values[i] = (double)get(c, profile_diff_run_type(c->diff, s->first + i), id) *
			    s->side->factors[i];
	return (struct run_values){ .values = values, .count = s->side->runs };
}

static int64_t value_at(const struct comparison *c, size_t type, uint32_t id)
{
	return c->sides[type][id];
}

static int64_t total_at(const struct comparison *c, size_t type, uint32_t id)
{
	(void)id;
	return total_of(c, type);
}

static double samples_at(const struct comparison *c, enum diff_type type, uint32_t id)
{
	return profile_diff_has_samples(c->diff) ? (double)c->sides[type][id] : 0;
}

/* False: nothing is there. */
static bool measure_runs(const struct comparison *c, uint32_t id, struct change *ret)
{
	const struct side_runs before = { &c->opts->before, 0 };
	const struct side_runs after = { &c->opts->after, before.side->runs };
	double before_values[DIFF_MAX_RUNS], after_values[DIFF_MAX_RUNS];
	struct run_values b = values_of(c, &before, value_at, id, before_values);
	struct run_values a = values_of(c, &after, value_at, id, after_values);

	b.samples = samples_at(c, DIFF_BEFORE_SAMPLES, id);
	a.samples = samples_at(c, DIFF_AFTER_SAMPLES, id);
	*ret = (struct change){ id, llround(run_mean(&b)), llround(run_mean(&a)),
				run_change_z(&b, &a) };
	return ret->before || ret->after;
}

/* From the rows of a side's profile to those of the diff. */
static int take_clumps(struct comparison *c, const struct flat *f, const double *of_rows,
		       double **ret, struct err *e)
{
	*ret = calloc(c->id_count + 1, sizeof **ret);
	if (!*ret)
		return err_nomem(e);
	for (uint32_t i = FLAT_ROOT + 1; i < f->row_count; i++) {
		uint32_t frame = frames_find(&c->flat.frames, &f->frames, f->rows[i].frame);

		if (frame != STRTAB_NONE)
			(*ret)[c->flat.row_of[frame]] = of_rows[i];
	}
	return 0;
}

static int measure_clumps(struct comparison *c, int side, struct err *e)
{
	const struct compare_side *s = side ? &c->opts->after : &c->opts->before;
	size_t values = side ? DIFF_AFTER : DIFF_BEFORE;
	size_t samples = side ? DIFF_AFTER_SAMPLES : DIFF_BEFORE_SAMPLES;
	double per_sample = (double)total_of(c, values) / (double)total_of(c, samples);
	double *of_rows = NULL;
	struct flat f;
	int rc;

	if (!s->profile || !profile_get_times(s->profile)->entries.count)
		return 0;
	rc = flat_init(&f, s->profile, c->opts->by, s->profile_type, -1, e);
	if (rc < 0)
		return rc;
	rc = clumps_measure(&f, s->profile_type, per_sample, c->opts->has_totals, &of_rows, e);
	if (rc == 0 && of_rows)
		rc = take_clumps(c, &f, of_rows, &c->clumps[side], e);
	free(of_rows);
	flat_fini(&f);
	return rc;
}

/* The variance of a row's samples on both sides, in multiples of Poisson's. */
static double clumps_of(const struct comparison *c, uint32_t id)
{
	double variance = 0, samples = 0;

	for (size_t side = 0; side < 2; side++) {
		double of_side =
			(double)c->sides[side ? DIFF_AFTER_SAMPLES : DIFF_BEFORE_SAMPLES][id];
		double times = c->clumps[side] ? c->clumps[side][id] : 1;

		samples += of_side;
		variance += of_side * (times > 1 ? times : 1);
	}
	return samples > 0 ? variance / samples : 1;
}

static bool measure_two(const struct comparison *c, uint32_t id, double ratio, struct change *ret)
{
	int64_t before = c->sides[DIFF_BEFORE][id], after = c->sides[DIFF_AFTER][id];

	*ret = (struct change){ id, scale(before, c->opts->before.factors[0]), after, 0 };
	if (c->has_z)
		ret->z = compare_z(c->sides[DIFF_BEFORE_SAMPLES][id],
				   c->sides[DIFF_AFTER_SAMPLES][id], ratio) /
			 sqrt(clumps_of(c, id));
	return before || after;
}

static void find_totals(struct comparison *c)
{
	const struct side_runs before = { &c->opts->before, 0 };
	const struct side_runs after = { &c->opts->after, before.side->runs };
	double values[DIFF_MAX_RUNS];
	struct run_values v;

	if (!c->has_runs) {
		c->before = scale(total_of(c, DIFF_BEFORE), c->opts->before.factors[0]);
		c->after = total_of(c, DIFF_AFTER);
		return;
	}
	v = values_of(c, &before, total_at, 0, values);
	c->before = llround(run_mean(&v));
	v = values_of(c, &after, total_at, 0, values);
	c->after = llround(run_mean(&v));
}

static int find_changes(struct comparison *c, struct err *e)
{
	double ratio = sample_ratio(c);
	int rc = 0;

	c->has_runs = c->opts->before.runs + c->opts->after.runs > 2;
	c->has_z = c->has_runs || ratio > 0;
	find_totals(c);
	for (int side = 0; side < 2 && c->has_z && !c->has_runs && !c->opts->label && rc == 0;
	     side++)
		rc = measure_clumps(c, side, e);
	if (rc < 0)
		return rc;
	c->changes = calloc(c->id_count + 1, sizeof *c->changes);
	if (!c->changes)
		return err_nomem(e);
	for (uint32_t i = 0; i < c->id_count; i++) {
		struct change *change = &c->changes[c->change_count];

		c->change_count +=
			c->has_runs ? measure_runs(c, i, change) : measure_two(c, i, ratio, change);
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
	if (s->runs > 1)
		emit_head_int(out, keys[4], (int64_t)s->runs);
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
					      "before_lost", "before_runs" };
	static const char *const after[] = { "after", "after_duration_ns", "after_samples",
					     "after_lost", "after_runs" };
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
		if (!c->has_runs)
			emit_head_real(c->out, "before_factor", o->before.factors[0]);
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
	if (has_marks && c->has_runs)
		emit_note(c->out, "*: beyond what the runs of a side differ by (z is %.0f or more)",
			  COMPARE_Z);
	else if (has_marks)
		emit_note(c->out,
			  "*: hardly by chance within these two runs (z is %.0f or more); how runs "
			  "differ: auger diff BEFORE... -- AFTER...",
			  COMPARE_Z);
}

static void comparison_fini(struct comparison *c)
{
	flat_fini(&c->flat);
	groups_fini(&c->groups);
	for (size_t i = 0; i < PROFILE_MAX_TYPES; i++)
		free(c->sides[i]);
	free(c->clumps[0]);
	free(c->clumps[1]);
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
