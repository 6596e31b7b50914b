/* SPDX-License-Identifier: MIT */
#include "cachejob/cluster_tables.h"

#include <stdlib.h>
#include <string.h>

static const char *const operation_columns[OPERATION_VALUES] = {
	"total_calls", "cache_hits", "cache_misses", "negative_results", "total_latency_s",
};

static const char *const path_columns[PATH_VALUES] = {
	"total_events", "cache_hits", "cache_misses", "negative_results",
	"ttl_stores",   "ttl_serves", "ttl_expires",  "ttl_clears",
};

static int compare_paths(const void *left, const void *right, void *cluster)
{
	const struct cluster *c = cluster;
	const struct cluster_path *a = cluster_path(c, *(const uint32_t *)left),
				  *b = cluster_path(c, *(const uint32_t *)right);
	int order = (int)a->category - (int)b->category;

	if (order == 0)
		order = decimal_compare(b->values[PATH_EVENTS], a->values[PATH_EVENTS]);
	return order ? order : strcmp(cluster_path_text(c, a).ptr, cluster_path_text(c, b).ptr);
}

static int compare_latencies(const void *left, const void *right, void *cluster)
{
	const struct cluster *c = cluster;
	const struct cluster_path *a = cluster_path(c, *(const uint32_t *)left),
				  *b = cluster_path(c, *(const uint32_t *)right);
	int order = decimal_compare(b->latency_us, a->latency_us);

	return order ? order : compare_paths(left, right, cluster);
}

static int compare_bytes(const void *left, const void *right, void *cluster)
{
	const struct cluster *c = cluster;
	const struct cluster_path *a = cluster_path(c, *(const uint32_t *)left),
				  *b = cluster_path(c, *(const uint32_t *)right);
	int order = decimal_compare(b->bytes, a->bytes);

	return order ? order : compare_paths(left, right, cluster);
}

static uint32_t *sort_paths(const struct cluster *c,
			    int (*compare)(const void *, const void *, void *))
{
	union {
		const struct cluster *in;
		void *out;
	} context = { .in = c };
	uint32_t *paths = calloc(c->path_rows.count + 1, sizeof *paths);

	for (uint32_t i = 0; paths && i < c->path_rows.count; i++)
		paths[i] = i;
	if (paths)
		qsort_r(paths, c->path_rows.count, sizeof *paths, compare, context.out);
	return paths;
}

int cluster_view_init(struct cluster_view *v, const struct cluster *c,
		      const struct classes *classes, const struct path_sums *sums, size_t top,
		      struct err *e)
{
	*v = (struct cluster_view){ c, classes, sums, .top = top };
	v->paths = sort_paths(c, compare_paths);
	v->slow_paths = sort_paths(c, compare_latencies);
	v->big_paths = sort_paths(c, compare_bytes);
	if (v->paths && v->slow_paths && v->big_paths)
		return 0;
	cluster_view_fini(v);
	return err_nomem(e);
}

void cluster_view_fini(struct cluster_view *v)
{
	free(v->paths);
	free(v->slow_paths);
	free(v->big_paths);
}

const struct cluster_path *cluster_view_next_path(const struct cluster_view *v, size_t *at)
{
	for (; *at < v->cluster->path_rows.count; (*at)++) {
		const struct cluster_path *p = cluster_path(v->cluster, v->paths[*at]);

		/* Rows are sorted by category. Is the row `top` before it in another one? */
		if (*at >= v->top &&
		    cluster_path(v->cluster, v->paths[*at - v->top])->category == p->category)
			continue;
		(*at)++;
		return p;
	}
	return NULL;
}

/* With a point if its sum has one; a 0 may stand for a rank without a row. */
static void put_figure(struct emit *out, const char *key, struct decimal f, bool has_point)
{
	if (has_point)
		emit_real(out, key, decimal_real(f), 6, "");
	else
		emit_int(out, key, f.integer);
}

static void put_metric(struct emit *out, const char *name, struct decimal value)
{
	emit_name(out, "metric", "", name, "");
	put_figure(out, "value", value, value.has_point);
}

void cluster_put_metrics(const struct cluster_view *v, struct emit *out)
{
	const struct cluster *c = v->cluster;

	emit_columns(out);
	put_metric(out, "", (struct decimal){ 0 });
	emit_row(out);
	put_metric(out, "ranks_with_aggregate_files",
		   (struct decimal){ .integer = (int64_t)c->ranks[RANK_METRICS] });
	for (size_t i = 0; i < range_table_count(&c->metrics); i++) {
		const char *name;
		const struct range *r = range_table_get(&c->metrics, i, &name);

		emit_row(out);
		put_metric(out, name, r->sum);
	}
}

static void put_operation(struct emit *out, const char *name, const struct range *ranges)
{
	double calls = decimal_real(ranges[OPERATION_CALLS].sum);
	double latency_s = decimal_real(ranges[OPERATION_LATENCY].sum);

	emit_text(out, "operation", name);
	for (int i = OPERATION_CALLS; i <= OPERATION_NEGATIVE; i++)
		emit_int(out, operation_columns[i], ranges[i].sum.integer);
	emit_real(out, "avg_latency_us", calls > 0 ? 1e6 * latency_s / calls : 0, 2, "");
	emit_real(out, operation_columns[OPERATION_LATENCY], latency_s, 6, "");
}

void cluster_put_operations(const struct cluster_view *v, struct emit *out)
{
	const struct range_table *t = &v->cluster->operations;
	const struct range none[OPERATION_VALUES] = { { .ranks = 0 } };

	emit_columns(out);
	put_operation(out, "", none);
	for (size_t i = 0; i < range_table_count(t); i++) {
		const char *name;
		const struct range *ranges = range_table_get(t, i, &name);

		emit_row(out);
		put_operation(out, name, ranges);
	}
}

const char *cluster_rank_name(const struct cluster *c, const struct range *r, uint32_t rank)
{
	return decimal_compare(r->min, r->max) ? jobdir_rank(c->job, rank)->name : "";
}

static void put_range(struct emit *out, const struct cluster *c, const char *metric,
		      const char *operation, const struct range *r)
{
	double imbalance = range_imbalance(r);

	emit_name(out, "metric", "", metric, "");
	emit_optional(out, "operation", operation);
	emit_int(out, "ranks", (int64_t)r->ranks);
	put_figure(out, "sum", r->sum, r->sum.has_point);
	put_figure(out, "min", r->min, r->sum.has_point);
	emit_real(out, "mean", range_mean(r), r->sum.has_point ? 6 : 2, "");
	put_figure(out, "max", r->max, r->sum.has_point);
	if (imbalance > 0)
		emit_real(out, "imbalance", imbalance, 3, "");
	else
		emit_none(out, "imbalance");
	emit_optional(out, "min_rank", c ? cluster_rank_name(c, r, r->min_rank) : "");
	emit_optional(out, "max_rank", c ? cluster_rank_name(c, r, r->max_rank) : "");
}

static void put_operation_ranges(struct emit *out, const struct cluster *c, const char *name,
				 const struct range *ranges)
{
	bool is_table = out->opts.format == EMIT_TABLE; /* tables show only the important columns */

	for (int i = 0; i < OPERATION_VALUES; i++) {
		if (is_table && i != OPERATION_CALLS && i != OPERATION_LATENCY)
			continue;
		emit_row(out);
		put_range(out, c, operation_columns[i], name, &ranges[i]);
	}
}

void cluster_put_ranges(const struct cluster_view *v, struct emit *out)
{
	const struct cluster *c = v->cluster;
	const struct range none = { .ranks = 0 }, *r;
	const char *name;

	emit_columns(out);
	put_range(out, NULL, "", "", &none);
	for (size_t i = 0; i < range_table_count(&c->metrics); i++) {
		r = range_table_get(&c->metrics, i, &name);
		emit_row(out);
		put_range(out, c, name, "", r);
	}
	for (size_t i = 0; i < range_table_count(&c->operations); i++) {
		r = range_table_get(&c->operations, i, &name);
		put_operation_ranges(out, c, name, r);
	}
}

static void put_latency(struct emit *out, const struct cluster *c, const char *name,
			const struct range *r)
{
	emit_text(out, "operation", name);
	emit_int(out, "ranks", (int64_t)r->ranks);
	emit_real(out, "p50_us_min", decimal_real(r[LATENCY_P50].min), 3, "");
	emit_real(out, "p50_us_max", decimal_real(r[LATENCY_P50].max), 3, "");
	emit_real(out, "p90_us_min", decimal_real(r[LATENCY_P90].min), 3, "");
	emit_real(out, "p90_us_max", decimal_real(r[LATENCY_P90].max), 3, "");
	emit_real(out, "p99_us_min", decimal_real(r[LATENCY_P99].min), 3, "");
	emit_real(out, "p99_us_max", decimal_real(r[LATENCY_P99].max), 3, "");
	emit_real(out, "max_us", decimal_real(r[LATENCY_MAX].max), 3, "");
	emit_optional(out, "max_rank",
		      c ? cluster_rank_name(c, &r[LATENCY_MAX], r[LATENCY_MAX].max_rank) : "");
	emit_real(out, "storage_wait_s", decimal_real(r[LATENCY_STORAGE].sum), 6, "");
	emit_int(out, "bytes", r[LATENCY_BYTES].sum.integer);
}

void cluster_put_latency(const struct cluster_view *v, struct emit *out)
{
	const struct range_table *t = &v->cluster->latencies;
	const struct range none[LATENCY_VALUES] = { { .ranks = 0 } };

	emit_columns(out);
	put_latency(out, NULL, "", none);
	for (size_t i = 0; i < range_table_count(t); i++) {
		const char *name;
		const struct range *r = range_table_get(t, i, &name);

		emit_row(out);
		put_latency(out, v->cluster, name, r);
	}
}

static void put_path(struct emit *out, const struct cluster_view *v, const struct cluster_path *p)
{
	struct str path = { "", 0 };
	const char *class = "";
	int64_t missing = 0;

	if (v) {
		path = cluster_path_text(v->cluster, p);
		class = classes_name(v->classes, classes_find(v->classes, path_is_absent(p),
							      path.ptr, path.len));
		missing = cluster_missing(v->cluster, p);
	}
	emit_text(out, "category", path_category_names[p->category]);
	emit_name(out, "path", "", path.ptr, "");
	for (int i = 0; i < PATH_VALUES; i++)
		emit_int(out, path_columns[i], p->values[i].integer);
	emit_text(out, "class", class);
	emit_int(out, "ranks", (int64_t)p->events.ranks);
	emit_int(out, "min_events", p->events.min.integer);
	emit_int(out, "max_events", p->events.max.integer);
	emit_optional(out, "max_rank",
		      v ? cluster_rank_name(v->cluster, &p->events, p->events.max_rank) : "");
	emit_int(out, "events_not_listed", missing);
	if (p->has_costs) {
		emit_real(out, "latency_us", decimal_real(p->latency_us), 3, "");
		emit_int(out, "bytes", p->bytes.integer);
	} else {
		emit_none(out, "latency_us");
		emit_none(out, "bytes");
	}
}

void cluster_put_top_paths(const struct cluster_view *v, struct emit *out)
{
	const struct cluster_path none = { 0 }, *p;
	size_t at = 0;

	emit_columns(out);
	put_path(out, NULL, &none);
	while ((p = cluster_view_next_path(v, &at))) {
		emit_row(out);
		put_path(out, v, p);
	}
}

static void put_sums(const struct cluster_view *v, struct emit *out, const char *key,
		     const struct rows *rows)
{
	const struct path_sum *sums = rows->data, none = { .name = "" };

	emit_columns(out);
	for (size_t i = 0; i <= rows->count; i++) {
		const struct path_sum *s = i ? &sums[i - 1] : &none;

		if (i)
			emit_row(out);
		emit_text(out, key, s->name);
		emit_int(out, "entries", (int64_t)s->entries);
		emit_int(out, "total_events", s->events.integer);
		emit_int(out, "data_events", s->data.integer);
		emit_int(out, "absent_events", s->absent.integer);
		emit_name(
			out, "example", "",
			i ? cluster_path_text(v->cluster, cluster_path(v->cluster, s->example)).ptr
			  : "",
			"");
	}
}

void cluster_put_classes(const struct cluster_view *v, struct emit *out)
{
	put_sums(v, out, "path_class", &v->sums->classes);
}

void cluster_put_packages(const struct cluster_view *v, struct emit *out)
{
	put_sums(v, out, "package", &v->sums->packages);
}
