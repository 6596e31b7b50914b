/* SPDX-License-Identifier: MIT */
#include "cachejob/cluster_summary.h"

#include <string.h>

#include "cachefs/profile/guidance.h"
#include "cachejob/coverage.h"
#include "cachejob/node_sums.h"
#include "view/markdown.h"

static void put_code(struct buf *out, const char *text)
{
	markdown_put_code(out, text, strlen(text));
}

static void put_sources(struct buf *out, const struct cluster *c)
{
	for (int source = SOURCE_FINAL + 1; source < RANK_SOURCES; source++)
		if (c->sources[source])
			buf_printf(out, "- Ranks without final files, taken from `%s`: `%zu`\n",
				   rank_source_names[source], c->sources[source]);
	if (c->reset_ranks)
		buf_printf(out, "- Ranks that were reset, with later counts only: `%zu`\n",
			   c->reset_ranks);
	if (c->damaged_count)
		buf_printf(out, "- Damaged files left out: `%zu`\n", c->damaged_count);
}

static void put_head(struct buf *out, const struct cluster *c, const char *job)
{
	buf_put_str(out, "# Cluster Profiling Summary\n\n- Input directory: ");
	put_code(out, job);
	buf_printf(out, "\n- Rank summaries aggregated: `%zu`\n", c->rank_count);
	settings_put(&c->settings, out);
	put_sources(out, c);
}

static void put_metrics(struct buf *out, const struct cluster_view *v)
{
	const struct cluster *c = v->cluster;

	buf_printf(out,
		   "\n## Aggregate Metrics\n\n"
		   "| Metric | Value |\n|---|---:|\n"
		   "| Ranks with aggregate files | %zu |\n",
		   c->ranks[RANK_METRICS]);
	for (size_t i = 0; i < range_table_count(&c->metrics); i++) {
		const char *name;
		const struct range *r = range_table_get(&c->metrics, i, &name);

		buf_put_str(out, "| ");
		put_code(out, name);
		buf_put_str(out, " | ");
		decimal_put(out, r->sum);
		buf_put_str(out, " |\n");
	}
}

static void put_operations(struct buf *out, const struct cluster_view *v)
{
	const struct range_table *t = &v->cluster->operations;

	buf_put_str(out,
		    "\n## Operation Totals\n\n"
		    "| Operation | Total Calls | Cache Hits | Cache Misses | Negative Results | "
		    "Avg Latency (us) | Total Latency (s) |\n"
		    "|---|---:|---:|---:|---:|---:|---:|\n");
	for (size_t i = 0; i < range_table_count(t); i++) {
		const char *name;
		const struct range *r = range_table_get(t, i, &name);
		double calls = decimal_real(r[OPERATION_CALLS].sum);
		double latency_s = decimal_real(r[OPERATION_LATENCY].sum);

		buf_put_str(out, "| ");
		put_code(out, name);
		for (int k = OPERATION_CALLS; k <= OPERATION_NEGATIVE; k++) {
			buf_put_str(out, " | ");
			decimal_put(out, r[k].sum);
		}
		buf_printf(out, " | %.2f | %.6f |\n", calls > 0 ? 1e6 * latency_s / calls : 0,
			   latency_s);
	}
}

/* "1.5" or "1.5 - 3.0" */
static void put_spread(struct buf *out, const struct range *r)
{
	buf_printf(out, " | %.1f", decimal_real(r->min));
	if (decimal_compare(r->min, r->max))
		buf_printf(out, " - %.1f", decimal_real(r->max));
}

static void put_latencies(struct buf *out, const struct cluster_view *v)
{
	const struct cluster *c = v->cluster;
	const struct range_table *t = &c->latencies;

	if (!range_table_count(t))
		return;
	buf_put_str(out,
		    "\n## Latency Percentiles\n\n"
		    "From the rank with the least to the rank with the greatest one.\n\n"
		    "| Operation | Ranks | p50 (us) | p90 (us) | p99 (us) | Max (us) | Rank of Max "
		    "| Storage Wait (s) | Bytes |\n"
		    "|---|---:|---:|---:|---:|---:|---|---:|---:|\n");
	for (size_t i = 0; i < range_table_count(t); i++) {
		const char *name;
		const struct range *r = range_table_get(t, i, &name);

		buf_put_str(out, "| ");
		put_code(out, name);
		buf_printf(out, " | %zu", r->ranks);
		for (int k = LATENCY_P50; k <= LATENCY_P99; k++)
			put_spread(out, &r[k]);
		buf_printf(out, " | %.1f | ", decimal_real(r[LATENCY_MAX].max));
		put_code(out, jobdir_rank(c->job, r[LATENCY_MAX].max_rank)->name);
		buf_printf(out, " | %.6f | %lld |\n", decimal_real(r[LATENCY_STORAGE].sum),
			   (long long)r[LATENCY_BYTES].sum.integer);
	}
}

static void put_range(struct buf *out, const struct cluster *c, const char *name, const char *what,
		      const struct range *r)
{
	double imbalance = range_imbalance(r);
	struct decimal min = r->min;

	min.has_point |= r->sum.has_point; /* a 0 may stand for a rank without a row */
	buf_put_str(out, "| ");
	put_code(out, name);
	buf_printf(out, "%s | %zu | ", what, r->ranks);
	decimal_put(out, min);
	buf_printf(out, " | %.*f | ", r->sum.has_point ? 6 : 1, range_mean(r));
	decimal_put(out, r->max);
	if (imbalance > 0)
		buf_printf(out, " | %.2f | ", imbalance);
	else
		buf_put_str(out, " | - | ");
	if (decimal_compare(r->min, r->max))
		put_code(out, cluster_rank_name(c, r, r->max_rank));
	else
		buf_put_str(out, "-");
	buf_put_str(out, " |\n");
}

static void put_ranges(struct buf *out, const struct cluster_view *v)
{
	const struct cluster *c = v->cluster;
	const struct range *r;
	const char *name;

	if (c->rank_count < 2)
		return;
	buf_put_str(out, "\n## Ranges Across Ranks\n\n"
			 "Max/Mean is 1.00 where all ranks have the same share.\n\n"
			 "| Metric | Ranks | Min | Mean | Max | Max/Mean | Rank of Max |\n"
			 "|---|---:|---:|---:|---:|---:|---|\n");
	for (size_t i = 0; i < range_table_count(&c->metrics); i++) {
		r = range_table_get(&c->metrics, i, &name);
		put_range(out, c, name, "", r);
	}
	for (size_t i = 0; i < range_table_count(&c->operations); i++) {
		r = range_table_get(&c->operations, i, &name);
		put_range(out, c, name, " calls", &r[OPERATION_CALLS]);
		put_range(out, c, name, " latency (s)", &r[OPERATION_LATENCY]);
	}
}

static void put_top_paths(struct buf *out, const struct cluster_view *v)
{
	const struct cluster_path *p;
	bool is_short = false;
	size_t at = 0;

	buf_put_str(out, "\n## Top Paths\n\n"
			 "| Category | Path | Total Events | Cache Hits | Cache Misses | Negative "
			 "Results | Ranks | Max of a Rank |\n"
			 "|---|---|---:|---:|---:|---:|---:|---:|\n");
	while ((p = cluster_view_next_path(v, &at))) {
		struct str path = cluster_path_text(v->cluster, p);
		int64_t missing = cluster_missing(v->cluster, p);

		buf_printf(out, "| %s | ", path_category_names[p->category]);
		markdown_put_code(out, path.ptr, path.len);
		buf_put_str(out, " | ");
		decimal_put(out, p->values[PATH_EVENTS]);
		buf_put_str(out, missing ? "+ | " : " | ");
		decimal_put(out, p->values[PATH_HITS]);
		buf_put_str(out, " | ");
		decimal_put(out, p->values[PATH_MISSES]);
		buf_put_str(out, " | ");
		decimal_put(out, p->values[PATH_NEGATIVE]);
		buf_printf(out, " | %zu | ", p->events.ranks);
		decimal_put(out, p->events.max);
		buf_put_str(out, " |\n");
		is_short |= missing > 0;
	}
	if (cluster_evicted_paths(v->cluster))
		buf_printf(
			out,
			"\n%lld paths were evicted from the ranks' caches, and are in the totals "
			"only.\n",
			(long long)cluster_evicted_paths(v->cluster));
	if (is_short)
		buf_put_str(out,
			    "\n\"+\": ranks without the path in their list of top paths may have "
			    "more events of it. profiling_top_paths.csv has the bound.\n");
}

static void put_slow_paths(struct buf *out, const struct cluster_view *v)
{
	const struct cluster *c = v->cluster;
	bool is_of_all = c->ranks[RANK_COSTS] == c->rank_count;

	if (!c->ranks[RANK_COSTS])
		return;
	buf_put_str(out, "\n## Paths With Most Time\n\n");
	if (!is_of_all)
		buf_printf(out, "Times and bytes are of %zu of %zu ranks.\n\n",
			   c->ranks[RANK_COSTS], c->rank_count);
	buf_put_str(out,
		    "| Category | Path | Latency (s) | Avg Latency (us) | Total Events | Bytes |\n"
		    "|---|---|---:|---:|---:|---:|\n");
	for (size_t i = 0; i < c->path_rows.count && i < v->top; i++) {
		const struct cluster_path *p = cluster_path(c, v->slow_paths[i]);
		struct str path = cluster_path_text(c, p);
		double us = decimal_real(p->latency_us),
		       events = decimal_real(p->values[PATH_EVENTS]);

		if (decimal_is_zero(p->latency_us))
			break;
		buf_printf(out, "| %s | ", path_category_names[p->category]);
		markdown_put_code(out, path.ptr, path.len);
		buf_printf(out, " | %.6f | ", us / 1e6);
		if (is_of_all && events > 0)
			buf_printf(out, "%.2f | ", us / events);
		else
			buf_put_str(out, "- | ");
		decimal_put(out, p->values[PATH_EVENTS]);
		buf_put_str(out, " | ");
		decimal_put(out, p->bytes);
		buf_put_str(out, " |\n");
	}
}

/* What a file costs a job: its bytes, times the nodes that read them. */
static void put_big_paths(struct buf *out, const struct cluster_view *v)
{
	const struct cluster *c = v->cluster;

	if (!c->ranks[RANK_COSTS])
		return;
	buf_put_str(out, "\n## Files With Most Bytes on All Nodes\n\n"
			 "| Path | Bytes | Ranks | Bytes a Rank |\n|---|---:|---:|---:|\n");
	for (size_t i = 0; i < c->path_rows.count && i < v->top; i++) {
		const struct cluster_path *p = cluster_path(c, v->big_paths[i]);
		struct str path = cluster_path_text(c, p);

		if (decimal_is_zero(p->bytes) || !p->events.ranks)
			break;
		buf_put_str(out, "| ");
		markdown_put_code(out, path.ptr, path.len);
		buf_put_str(out, " | ");
		decimal_put(out, p->bytes);
		buf_printf(out, " | %zu | %.0f |\n", p->events.ranks,
			   decimal_real(p->bytes) / (double)p->events.ranks);
	}
}

static void put_sums(struct buf *out, const struct cluster_view *v, const struct rows *rows)
{
	const struct path_sum *sums = rows->data;

	for (size_t i = 0; i < rows->count && i < v->top; i++) {
		struct str example =
			cluster_path_text(v->cluster, cluster_path(v->cluster, sums[i].example));

		buf_put_str(out, "| ");
		put_code(out, sums[i].name);
		buf_printf(out, " | %zu | ", sums[i].entries);
		decimal_put(out, sums[i].events);
		buf_put_str(out, " | ");
		markdown_put_code(out, example.ptr, example.len);
		buf_put_str(out, " |\n");
	}
}

static void put_classes(struct buf *out, const struct cluster_view *v)
{
	const struct range *serves =
		range_table_find(&v->cluster->metrics, "metadata_enoent_ttl_serves");

	buf_put_str(out,
		    "\n## Path Class Heuristics\n\n"
		    "A path belongs to the first class whose rule matches. The example has most "
		    "events.\n\n"
		    "| Path Class | Entries | Total Events | Example |\n"
		    "|---|---:|---:|---|\n");
	put_sums(out, v, &v->sums->classes);
	if (v->sums->packages.count) {
		buf_put_str(out, "\n## Python Packages\n\n"
				 "| Package | Entries | Total Events | Example |\n"
				 "|---|---:|---:|---|\n");
		put_sums(out, v, &v->sums->packages);
	}
	buf_put_str(out, "\n## Pruning Guidance\n\n"
			 "These are hints from the paths.\n\n");
	guidance_put(out, v->sums, serves ? serves->sum : (struct decimal){ 0 });
}

static void put_damaged(struct buf *out, const struct cluster *c)
{
	size_t named = strtab_count(c->damaged);

	if (!c->damaged_count)
		return;
	buf_put_str(out, "\n## Files Left Out\n\n");
	for (size_t i = 0; i < named; i++) {
		struct str reason = strtab_get(c->damaged, (uint32_t)i);

		buf_put_str(out, "- ");
		markdown_put_code(out, reason.ptr, reason.len);
		buf_put_byte(out, '\n');
	}
	if (c->damaged_count > named)
		buf_printf(out, "- and %zu more\n", c->damaged_count - named);
}

void cluster_summary_put(struct buf *out, const struct cluster_view *v, const struct rows *coverage,
			 const struct nodes_list *nodes, const char *job)
{
	put_head(out, v->cluster, job);
	put_metrics(out, v);
	put_operations(out, v);
	put_latencies(out, v);
	put_ranges(out, v);
	node_sums_put(nodes, out);
	if (v->cluster->path_rows.count) {
		put_top_paths(out, v);
		put_slow_paths(out, v);
		put_big_paths(out, v);
		put_classes(out, v);
	}
	coverage_put_summary(out, v->cluster, coverage);
	put_damaged(out, v->cluster);
}
