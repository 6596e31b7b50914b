/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/profile_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cachefs/profile/profile_classes.h"
#include "cachefs/profile/profile_tables.h"
#include "view/markdown.h"

#define TOP_ROWS 10 /* of each category; the CSV file has all */

static double us_of(uint64_t ns)
{
	return (double)ns / 1000;
}

static double seconds_of(uint64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

static void put_head(const struct profile_facts *f, struct buf *out)
{
	const struct profile_config *a = f->config;

	buf_printf(out,
		   "# %s Profiling Summary\n\n"
		   "- Profiling mode: `%s`\n"
		   "- Metadata ENOENT TTL (ms): `%lld`\n"
		   "- Top-path limit: `%llu`\n"
		   "- Full path outputs enabled: `%s`\n",
		   a->is_copper ? "Copper" : "Cache", profile_mode_names[a->mode],
		   (long long)a->negative_ttl_ms, (unsigned long long)a->top_paths,
		   a->mode == PROFILE_PATHS ? "yes" : "no");
	buf_printf(out, "- Kernel caching: `%s`\n\n",
		   a->is_exact ? "off: every call was counted"
			       : "on: calls that the kernel answered itself were not counted");
	if (f->tag)
		buf_printf(out, "- Snapshot tag: `%s`\n\n", f->tag);
}

static void put_operations(const struct profile_facts *f, struct buf *out)
{
	buf_put_str(out,
		    "## Aggregate Operation Metrics\n\n"
		    "| Operation | Total Calls | Cache Hits | Cache Misses | Negative Results | "
		    "Avg Latency (us) | Total Latency (s) |\n"
		    "|---|---:|---:|---:|---:|---:|---:|\n");
	for (int op = 0; op < METRICS_OPS; op++) {
		const uint64_t *sums = f->ops[op].sums;

		if (!sums[METRICS_CALLS])
			continue;
		buf_printf(out, "| `%s` |", metrics_op_names[op]);
		for (int i = METRICS_CALLS; i <= METRICS_NEGATIVES; i++)
			buf_printf(out, " %llu |", (unsigned long long)sums[i]);
		buf_printf(out, " %.2f | %.6f |\n",
			   us_of(sums[METRICS_NS]) / (double)sums[METRICS_CALLS],
			   seconds_of(sums[METRICS_NS]));
	}
}

static void put_metrics(const struct profile_facts *f, size_t from, size_t to, struct buf *out)
{
	uint64_t values[PROFILE_METRICS];

	profile_metric_values(f, values);
	buf_put_str(out, "| Metric | Value |\n|---|---:|\n");
	for (size_t i = from; i < to; i++) {
		const struct profile_metric *m = &profile_metrics[i];
		int len = (int)profile_metric_len(m, f->config->is_copper);

		if (m->unit == PROFILE_SECONDS)
			buf_printf(out, "| %.*s | %.6f |\n", len, m->description,
				   seconds_of(values[i]));
		else
			buf_printf(out, "| %.*s | %llu |\n", len, m->description,
				   (unsigned long long)values[i]);
	}
}

static void put_percentiles(const struct profile_facts *f, struct buf *out)
{
	buf_put_str(
		out,
		"\n## Latency Percentiles\n\n"
		"Latency is the time from a request to its reply. Storage Wait is the part that "
		"storage took.\n\n"
		"| Operation | p50 (us) | p90 (us) | p99 (us) | Max (us) | Storage Wait (s) | "
		"Bytes |\n"
		"|---|---:|---:|---:|---:|---:|---:|\n");
	for (int op = 0; op < METRICS_OPS; op++) {
		const struct metrics_counts *c = &f->ops[op];

		if (!c->sums[METRICS_CALLS])
			continue;
		buf_printf(out, "| `%s` | %.3f | %.3f | %.3f | %.3f | %.6f | %llu |\n",
			   metrics_op_names[op], us_of((uint64_t)metrics_quantile(c, 0.5)),
			   us_of((uint64_t)metrics_quantile(c, 0.9)),
			   us_of((uint64_t)metrics_quantile(c, 0.99)), us_of(c->max_ns),
			   seconds_of(c->sums[METRICS_STORAGE_NS]),
			   (unsigned long long)c->sums[METRICS_BYTES]);
	}
}

static void put_row(const struct profile_facts *f, const struct path_row *row, int class,
		    struct buf *out)
{
	static const char *const names[] = { "metadata", "data", "tree", "metadata_ttl" };
	const char *path = path_list_path(&f->paths, row);
	const struct path_counts *c = &row->counts;

	buf_printf(out, "| `%s` | ", names[class]);
	markdown_put_code(out, path, strlen(path));
	if (class == PATH_CLASSES)
		buf_printf(out, " | %llu | |\n",
			   (unsigned long long)path_counts_negative_events(c));
	else
		buf_printf(out, " | %llu | %.6f |\n",
			   (unsigned long long)path_counts_events(c, (enum path_class) class),
			   seconds_of(path_counts_ns(c, (enum path_class) class)));
}

/* The first TOP_ROWS of each category. */
static int put_top(const struct profile_facts *f, struct buf *out)
{
	buf_printf(out,
		   "\n## Top Paths\n\n"
		   "The %llu paths with most events of each category are in "
		   "`*-profiling_top_paths.csv`.\n\n"
		   "| Category | Path | Total Events | Time (s) |\n|---|---|---:|---:|\n",
		   (unsigned long long)f->config->top_paths);
	for (int class = 0; class <= PATH_CLASSES; class ++) {
		const struct path_row **rows;
		size_t count;

		if (profile_rank_paths(f, (enum path_class) class, &rows, &count) < 0)
			return -ENOMEM;
		for (size_t i = 0; i < count && i < f->config->top_paths && i < TOP_ROWS; i++)
			put_row(f, rows[i], class, out);
		free(rows);
	}
	return 0;
}

static void put_paths_note(const struct profile_facts *f, struct buf *out)
{
	if (f->config->mode == PROFILE_PATHS)
		buf_put_str(out,
			    "\n## Full Path Outputs\n\n"
			    "Every path is in the `*_cache_event.output` files under `tables/`, "
			    "with its bytes and times in `*-profiling_paths.csv`.\n");
	if (f->paths.evicted_paths)
		buf_printf(
			out,
			"\n%llu paths were evicted to stay within the budget, and are in the totals "
			"only.\n",
			(unsigned long long)f->paths.evicted_paths);
}

int profile_put_summary(const struct profile_facts *f, struct buf *out)
{
	put_head(f, out);
	put_operations(f, out);
	buf_put_str(out, "\n## Derived High-Level Metrics\n\n");
	put_metrics(f, 0, PROFILE_COPPER_METRICS, out);
	if (f->config->top_paths && put_top(f, out) < 0)
		return -ENOMEM;
	put_paths_note(f, out);
	if (f->paths.rows.count && profile_put_classes(f, out) < 0)
		return -ENOMEM;
	put_percentiles(f, out);
	buf_put_str(out, "\n## Storage and Memory\n\n");
	put_metrics(f, PROFILE_COPPER_METRICS, PROFILE_METRICS, out);
	return buf_error(out);
}
