/* SPDX-License-Identifier: MIT */
#include "view/tables/stage_table.h"

#include <stdlib.h>
#include <string.h>

const char *const stage_orders[] = { "wall", "self", "cpu",  "wait", "calls", "mean",
				     "max",  "p95",  "peak", "rss",  "name",  NULL };

/* A metric's column. */
enum shown {
	SHOWN,          /* in tables, where it was measured */
	SHOWN_ALONE,    /* the same, of one record only */
	SHOWN_NONZERO,  /* the same, where it is not 0 everywhere */
	SHOWN_PROGRAMS, /* CSV and JSON only */
};

static const struct {
	enum stage_metric metric;
	const char *key;
	enum shown shown;
} columns[] = {
	{ STAGE_SELF_WALL, "self_ns", SHOWN },
	{ STAGE_CPU, "cpu_ns", SHOWN },
	{ STAGE_CPU_THREAD, "cpu_thread_ns", SHOWN_PROGRAMS },
	{ STAGE_WAIT, "wait_ns", SHOWN_PROGRAMS },
	{ STAGE_WALL_UNION, "wall_union_ns", SHOWN_PROGRAMS },
	{ STAGE_WALL_MIN, "call_min_ns", SHOWN_PROGRAMS },
	{ STAGE_WALL_P50, "call_p50_ns", SHOWN_ALONE },
	{ STAGE_WALL_P95, "call_p95_ns", SHOWN_ALONE },
	{ STAGE_WALL_P99, "call_p99_ns", SHOWN_ALONE },
	{ STAGE_WALL_MAX, "max_ns", SHOWN },
	{ STAGE_PY_DELTA, "py_delta_bytes", SHOWN_PROGRAMS },
	{ STAGE_PY_PEAK, "py_peak_bytes", SHOWN_NONZERO },
	{ STAGE_HEAP_DELTA, "heap_delta_bytes", SHOWN_PROGRAMS },
	{ STAGE_HEAP_PEAK, "heap_peak_bytes", SHOWN_NONZERO },
	{ STAGE_HEAP_OVER_ENTRY, "heap_over_entry_bytes", SHOWN_PROGRAMS },
	{ STAGE_ALLOCS, "allocs", SHOWN_PROGRAMS },
	{ STAGE_ALLOC_KB, "alloc_bytes", SHOWN_PROGRAMS },
	{ STAGE_FREES, "frees", SHOWN_PROGRAMS },
	{ STAGE_RSS_DELTA, "rss_delta_bytes", SHOWN_NONZERO },
	{ STAGE_RSS_PEAK, "rss_peak_bytes", SHOWN_PROGRAMS },
	{ STAGE_MINOR_FAULTS, "minor_faults", SHOWN_PROGRAMS },
	{ STAGE_MAJOR_FAULTS, "major_faults", SHOWN_PROGRAMS },
	{ STAGE_CTX_SWITCHES, "ctx_switches", SHOWN_PROGRAMS },
	{ STAGE_READ_KB, "read_bytes", SHOWN_NONZERO },
	{ STAGE_WRITE_KB, "write_bytes", SHOWN_NONZERO },
	{ STAGE_THREADS, "threads", SHOWN_PROGRAMS },
	{ STAGE_ERRORS, "errors", SHOWN_NONZERO },
	{ STAGE_OPEN, "open", SHOWN_NONZERO },
};

struct table_of {
	struct emit *out;
	const struct stages *s;
	const struct stage_table_opts *o;
	uint32_t *rows; /* [row_count]: indices of sums, in order */
	int64_t *keys;  /* [row_count], by index: what they are ordered by */
	size_t row_count;
	uint64_t nonzero; /* metrics, as in stage_sum.has */
	bool has_many;    /* records */
};

static int64_t mean_of(const struct stage_sum *sum)
{
	int64_t calls = sum->values[STAGE_CALLS];

	return calls > 0 ? sum->values[STAGE_WALL] / calls : 0;
}

static int64_t key_of(const struct stage_sum *sum, enum stage_order order)
{
	static const enum stage_metric metrics[] = {
		[STAGE_BY_WALL] = STAGE_WALL,     [STAGE_BY_SELF] = STAGE_SELF_WALL,
		[STAGE_BY_CPU] = STAGE_CPU,       [STAGE_BY_WAIT] = STAGE_WAIT,
		[STAGE_BY_CALLS] = STAGE_CALLS,   [STAGE_BY_MAX] = STAGE_WALL_MAX,
		[STAGE_BY_RSS] = STAGE_RSS_DELTA,
	};

	switch (order) {
	case STAGE_BY_MEAN:
		return mean_of(sum);
	case STAGE_BY_P95:
		return sketch_quantile(&sum->walls, 0.95);
	case STAGE_BY_PEAK:
		return sum->has >> STAGE_HEAP_PEAK & 1 ? sum->values[STAGE_HEAP_PEAK]
						       : sum->values[STAGE_PY_PEAK];
	case STAGE_BY_NAME:
		return 0;
	default:
		return sum->values[metrics[order]];
	}
}

static int compare_texts(struct str a, struct str b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.ptr, b.ptr, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_rows(const void *left, const void *right, void *table)
{
	const struct table_of *t = table;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct stage_sum *x = stages_get(t->s, a), *y = stages_get(t->s, b);
	int order = (t->keys[a] < t->keys[b]) - (t->keys[a] > t->keys[b]);

	if (!order)
		order = compare_texts(stages_text(t->s, x->stage), stages_text(t->s, y->stage));
	return order ? order
		     : compare_texts(stages_text(t->s, x->group), stages_text(t->s, y->group));
}

static int table_init(struct table_of *t, struct err *e)
{
	t->row_count = stages_count(t->s);
	t->rows = calloc(t->row_count + 1, sizeof *t->rows);
	t->keys = calloc(t->row_count + 1, sizeof *t->keys);
	if (!t->rows || !t->keys)
		return err_nomem(e);
	for (uint32_t i = 0; i < t->row_count; i++) {
		const struct stage_sum *sum = stages_get(t->s, i);

		t->rows[i] = i;
		t->keys[i] = key_of(sum, t->o->order);
		for (int m = 0; m < STAGE_METRICS; m++)
			if (sum->has >> m & 1 && sum->values[m])
				t->nonzero |= UINT64_C(1) << m;
	}
	qsort_r(t->rows, t->row_count, sizeof *t->rows, compare_rows, t);
	t->has_many = stages_totals(t->s)->records > 1;
	return 0;
}

static bool is_shown(const struct table_of *t, enum stage_metric metric, enum shown shown)
{
	bool is_measured = stages_has(t->s, metric);

	switch (shown) {
	case SHOWN:
		return is_measured;
	case SHOWN_ALONE:
		return is_measured && !t->has_many;
	case SHOWN_NONZERO:
		return t->nonzero >> metric & 1;
	case SHOWN_PROGRAMS:
		break;
	}
	return false;
}

/* sum NULL: not measured; also when a column is only named. */
static void put_time(struct emit *out, const char *key, bool is_there, int64_t ns)
{
	if (is_there)
		emit_value(out, key, ns, "nanoseconds");
	else
		emit_none(out, key);
}

/* In tables the wall time of a single call is told once. */
static bool is_told(const struct table_of *t, const struct stage_sum *sum)
{
	return t->out->opts.format == EMIT_TABLE && sum->values[STAGE_CALLS] == 1;
}

static bool is_of_calls(enum stage_metric metric)
{
	return metric == STAGE_WALL_P50 || metric == STAGE_WALL_P95 || metric == STAGE_WALL_P99 ||
	       metric == STAGE_WALL_MIN || metric == STAGE_WALL_MAX;
}

static void put_metric(const struct table_of *t, size_t column, const struct stage_sum *sum)
{
	enum stage_metric metric = columns[column].metric;
	const struct stage_metric_info *info = &stage_metrics[metric];

	if (!is_shown(t, metric, columns[column].shown))
		emit_hide(t->out);
	if (sum->has >> metric & 1 && !(is_of_calls(metric) && is_told(t, sum)))
		emit_value(t->out, columns[column].key, stage_value(metric, sum->values[metric]),
			   info->unit);
	else
		emit_none(t->out, columns[column].key);
}

static void put_records(const struct table_of *t, const struct stage_sum *sum)
{
	static const struct {
		const char *key;
		double q;
	} quantiles[] = { { "p50_ns", 0.5 }, { "p95_ns", 0.95 }, { "p99_ns", 0.99 } };

	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++) {
		if (!t->has_many)
			emit_hide(t->out);
		put_time(t->out, quantiles[i].key,
			 sum->walls.count > (t->out->opts.format == EMIT_TABLE ? 1 : 0),
			 sketch_quantile(&sum->walls, quantiles[i].q));
	}
	if (!t->has_many)
		emit_hide(t->out);
	emit_int(t->out, "records", (int64_t)sum->records);
}

static void put_texts(const struct table_of *t, const struct stage_sum *sum)
{
	struct emit *out = t->out;

	if (t->o->group)
		emit_optional(out, "group", stages_text(t->s, sum->group).ptr);
	emit_name(out, "stage", "", stages_text(t->s, sum->stage).ptr, "");
	emit_hide(out);
	put_time(out, "slowest_ns", sum->slowest, sum->slowest_wall_ns);
	if (!t->has_many)
		emit_hide(out);
	emit_optional(out, "slowest_record", sum->slowest ? sum->slowest : "");
}

static void put_row(const struct table_of *t, const struct stage_sum *sum)
{
	bool has_wall = sum->has >> STAGE_WALL & 1;
	const struct stages_totals *totals = stages_totals(t->s);

	put_time(t->out, "wall_ns", has_wall, sum->values[STAGE_WALL]);
	emit_percent(t->out, "share_percent", sum->values[STAGE_WALL],
		     has_wall && totals->has_wall ? totals->wall_ns : 0);
	if (sum->has >> STAGE_CALLS & 1)
		emit_int(t->out, "calls", sum->values[STAGE_CALLS]);
	else
		emit_none(t->out, "calls");
	put_time(t->out, "mean_ns", has_wall && sum->values[STAGE_CALLS] > 0 && !is_told(t, sum),
		 mean_of(sum));
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		put_metric(t, i, sum);
	put_records(t, sum);
	put_texts(t, sum);
}

static void put_count(struct emit *out, const char *key, uint64_t count)
{
	if (!count)
		emit_hide(out);
	emit_head_int(out, key, (int64_t)count);
}

static void put_head(const struct table_of *t)
{
	const struct stages_totals *totals = stages_totals(t->s);
	struct emit *out = t->out;

	emit_head_int(out, "files", (int64_t)t->o->inputs.files);
	emit_head_int(out, "records", (int64_t)totals->records);
	put_count(out, "records_without_report", t->o->inputs.without);
	put_count(out, "damaged_lines", t->o->inputs.damaged);
	put_count(out, "rows_not_told_apart", totals->other);
	if (totals->has_wall)
		emit_head_value(out, "total_wall_ns", totals->wall_ns, "nanoseconds");
	if (totals->has_cpu)
		emit_head_value(out, "total_cpu_ns", totals->cpu_ns, "nanoseconds");
	if (totals->has_rss_peak)
		emit_head_value(out, "rss_peak_bytes",
				stage_value(STAGE_RSS_PEAK, totals->rss_peak_kb), "bytes");
	if (t->o->group)
		emit_head_str(out, "group", t->o->group);
}

int stage_table(struct emit *out, const struct stages *s, const struct stage_table_opts *o,
		struct err *e)
{
	struct table_of t = { .out = out, .s = s, .o = o };
	const struct stage_sum nothing = { 0 };
	int rc = table_init(&t, e);
	size_t shown = o->limit && o->limit < t.row_count ? o->limit : t.row_count;

	if (rc == 0) {
		put_head(&t);
		emit_columns(out);
		put_row(&t, &nothing);
		for (size_t i = 0; i < shown; i++) {
			emit_row(out);
			put_row(&t, stages_get(s, t.rows[i]));
		}
		if (shown < t.row_count)
			emit_note(out, "%zu more rows; -n 0 shows all", t.row_count - shown);
	}
	free(t.rows);
	free(t.keys);
	return rc;
}
