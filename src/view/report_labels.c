/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "view/groups.h"
#include "view/report.h"

struct table_of {
	struct emit *out;
	struct groups groups;
	const char *unit;
	enum flat_order order;
	bool has_samples; /* a column for them, because the values are something else */
	int64_t *values;  /* [groups.count] */
	int64_t *samples; /* [groups.count]; 0 when there are none */
	uint32_t *rows;   /* [row_count]: groups that have a value, in order */
	size_t row_count;
	int64_t total;
};

static int compare_rows(const void *left, const void *right, void *table)
{
	const struct table_of *t = table;
	const uint32_t *a = left, *b = right;
	int64_t x = t->values[*a], y = t->values[*b];
	int order = t->order == FLAT_BY_NAME ? 0 : (x < y) - (x > y);

	return order ? order : groups_compare(&t->groups, *a, *b);
}

static int table_init(struct table_of *t, const struct profile *p, const struct report_opts *o,
		      struct err *e)
{
	int samples_type = flat_samples_type(p);
	size_t count = t->groups.count;

	t->has_samples = samples_type >= 0 && (size_t)samples_type != o->type;
	t->values = calloc(count, sizeof *t->values);
	t->samples = calloc(count, sizeof *t->samples);
	t->rows = calloc(count, sizeof *t->rows);
	if (!t->values || !t->samples || !t->rows)
		return err_nomem(e);
	groups_sum(&t->groups, o->type, t->values);
	if (samples_type >= 0)
		groups_sum(&t->groups, (size_t)samples_type, t->samples);
	for (uint32_t i = 0; i < count; i++) {
		t->total = stacks_add(t->total, t->values[i]);
		if (t->values[i] || t->samples[i])
			t->rows[t->row_count++] = i;
	}
	qsort_r(t->rows, t->row_count, sizeof *t->rows, compare_rows, t);
	return 0;
}

static void put_row(const struct table_of *t, const struct group *group, int64_t value,
		    int64_t samples)
{
	emit_value(t->out, "total", value, t->unit);
	emit_percent(t->out, "total_percent", value, t->total);
	if (t->has_samples)
		emit_int(t->out, "samples", samples);
	groups_put_names(&t->groups, group, t->out);
}

static void put_rows(const struct table_of *t, size_t limit)
{
	size_t shown = limit && limit < t->row_count ? limit : t->row_count;
	int64_t cut = 0;

	for (size_t i = 0; i < shown; i++) {
		uint32_t id = t->rows[i];

		emit_row(t->out);
		put_row(t, &t->groups.list[id], t->values[id], t->samples[id]);
	}
	for (size_t i = shown; i < t->row_count; i++)
		cut = stacks_add(cut, t->values[t->rows[i]]);
	report_put_cut(t->out, t->row_count - shown, cut, t->total);
}

int report_labels(struct emit *out, const struct profile *p, const struct report_opts *o,
		  const char *key, struct err *e)
{
	struct table_of table = { .out = out, .unit = report_unit(p, o->type), .order = o->order };
	const struct group nothing = { .comm = 0 };
	int rc = groups_init(&table.groups, p, key, o->type, e);

	if (rc < 0)
		return rc;
	rc = table_init(&table, p, o, e);
	if (rc == 0) {
		report_put_head(out, p, o);
		emit_columns(out);
		put_row(&table, &nothing, 0, 0);
		put_rows(&table, o->limit);
	}
	free(table.values);
	free(table.samples);
	free(table.rows);
	groups_fini(&table.groups);
	return rc;
}
