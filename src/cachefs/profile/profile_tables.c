/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/profile_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "base/str.h"

static double us_of(uint64_t ns)
{
	return (double)ns / 1000;
}

static double seconds_of(uint64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

static void put_path(struct buf *out, const struct profile_facts *f, const struct path_row *row)
{
	const char *path = path_list_path(&f->paths, row);

	quote_csv(out, path, strlen(path));
}

void profile_put_operations(const struct profile_facts *f, struct buf *out)
{
	buf_put_str(out, "operation,total_calls,cache_hits,cache_misses,negative_results,"
			 "avg_latency_us,total_latency_s\n");
	for (int op = 0; op < METRICS_OPS; op++) {
		const uint64_t *sums = f->ops[op].sums;
		uint64_t calls = sums[METRICS_CALLS];

		if (!calls)
			continue;
		buf_printf(out, "%s,%llu,%llu,%llu,%llu,%.2f,%.6f\n", metrics_op_names[op],
			   (unsigned long long)calls, (unsigned long long)sums[METRICS_HITS],
			   (unsigned long long)sums[METRICS_MISSES],
			   (unsigned long long)sums[METRICS_NEGATIVES],
			   us_of(sums[METRICS_NS]) / (double)calls, seconds_of(sums[METRICS_NS]));
	}
}

const struct profile_metric profile_metrics[PROFILE_METRICS] = {
	{ "total_counted_fuse_operations", "Total counted FUSE operations", PROFILE_COUNT },
	{ "total_cache_hits", "Total cache hits", PROFILE_COUNT },
	{ "total_cache_misses", "Total cache misses", PROFILE_COUNT },
	{ "total_negative_results", "Total negative results", PROFILE_COUNT },
	{ "estimated_cache_served_operations_saved_by_copper",
	  "Estimated cache-served operations saved by Copper", PROFILE_COUNT },
	{ "metadata_enoent_ttl_stores", "Metadata ENOENT TTL stores", PROFILE_COUNT },
	{ "metadata_enoent_ttl_serves", "Metadata ENOENT TTL serves", PROFILE_COUNT },
	{ "metadata_enoent_ttl_expires", "Metadata ENOENT TTL expires", PROFILE_COUNT },
	{ "metadata_enoent_ttl_clears_on_success_or_non_enoent",
	  "Metadata ENOENT TTL clears on success/non-ENOENT", PROFILE_COUNT },
	{ "estimated_repeated_metadata_lookups_avoided_by_ttl",
	  "Estimated repeated metadata lookups avoided by TTL", PROFILE_COUNT },
	{ "total_measured_latency_seconds", "Total measured latency across counted operations (s)",
	  PROFILE_SECONDS },
	{ "total_storage_wait_seconds", "Part of it spent waiting for storage (s)",
	  PROFILE_SECONDS },
	{ "total_bytes_read", "Total bytes read", PROFILE_BYTES },
	{ "storage_requests", "Requests to storage", PROFILE_COUNT },
	{ "storage_failures", "Requests to storage that failed", PROFILE_COUNT },
	{ "storage_timeouts", "Callers that timed out waiting for storage", PROFILE_COUNT },
	{ "storage_waits_given_up", "Callers that were killed while they waited", PROFILE_COUNT },
	{ "stale_files", "Files that changed under the cache", PROFILE_COUNT },
	{ "cache_used_bytes", "Cache: bytes used", PROFILE_BYTES },
	{ "cache_budget_bytes", "Cache: budget in bytes", PROFILE_BYTES },
	{ "cache_remaining_bytes", "Cache: bytes remaining", PROFILE_BYTES },
	{ "paths_no_more_known", "Paths evicted to stay within the budget", PROFILE_COUNT },
};

size_t profile_metric_len(const struct profile_metric *m, bool is_copper)
{
	static const char end[] = " by Copper";
	size_t len = strlen(m->description), end_len = sizeof end - 1;

	return !is_copper && text_ends_with(m->description, end) ? len - end_len : len;
}

void profile_metric_values(const struct profile_facts *f, uint64_t ret[PROFILE_METRICS])
{
	const uint64_t values[PROFILE_METRICS] = {
		f->sums[METRICS_CALLS],
		f->sums[METRICS_HITS],
		f->sums[METRICS_MISSES],
		f->sums[METRICS_NEGATIVES],
		f->sums[METRICS_HITS],
		f->negatives[NEGATIVE_STORE],
		f->negatives[NEGATIVE_SERVE],
		f->negatives[NEGATIVE_EXPIRE],
		f->negatives[NEGATIVE_CLEAR],
		f->negatives[NEGATIVE_SERVE],
		f->sums[METRICS_NS],
		f->sums[METRICS_STORAGE_NS],
		f->sums[METRICS_BYTES],
		f->storage_calls,
		f->failures,
		f->timeouts,
		f->interrupts,
		f->stale,
		profile_facts_used(f),
		f->config->budget_bytes,
		profile_facts_remaining(f),
		f->paths.evicted_paths,
	};

	memcpy(ret, values, sizeof values);
}

void profile_put_aggregate(const struct profile_facts *f, struct buf *out)
{
	uint64_t values[PROFILE_METRICS];

	profile_metric_values(f, values);
	buf_put_str(out, "metric,value\n");
	for (size_t i = 0; i < PROFILE_METRICS; i++) {
		const struct profile_metric *m = &profile_metrics[i];

		if (m->unit == PROFILE_SECONDS)
			buf_printf(out, "%s,%.6f\n", m->name, seconds_of(values[i]));
		else
			buf_printf(out, "%s,%llu\n", m->name, (unsigned long long)values[i]);
	}
}

static uint64_t events_of(const struct path_row *row, enum path_class class)
{
	return class == PATH_CLASSES ? path_counts_negative_events(&row->counts)
				     : path_counts_events(&row->counts, class);
}

static int by_events(const void *left, const void *right, void *class)
{
	const struct path_row *const *a = left, *const *b = right;
	uint64_t x = events_of(*a, *(enum path_class *)class),
		 y = events_of(*b, *(enum path_class *)class);

	if (x != y)
		return x > y ? -1 : 1;
	return (*a > *b) - (*a < *b); /* sorted by path */
}

int profile_rank_paths(const struct profile_facts *f, enum path_class class,
		       const struct path_row ***ret, size_t *ret_count)
{
	const struct path_row **rows = malloc((f->paths.rows.count + 1) * sizeof *rows);
	size_t count = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < f->paths.rows.count; i++) {
		const struct path_row *row = path_list_get(&f->paths, i);

		if (!row->is_evicted && events_of(row, class))
			rows[count++] = row;
	}
	qsort_r(rows, count, sizeof *rows, by_events, &class);
	*ret = rows;
	*ret_count = count;
	return 0;
}

static void put_top_row(const struct profile_facts *f, const struct path_row *row, int class,
			struct buf *out)
{
	static const char *const names[] = { "metadata", "data", "tree", "metadata_ttl" };
	const struct path_counts *c = &row->counts;

	buf_printf(out, "%s,", names[class]);
	put_path(out, f, row);
	buf_printf(out, ",%llu", (unsigned long long)events_of(row, (enum path_class) class));
	for (int i = 0; i < PATH_RESULTS; i++)
		buf_printf(out, ",%llu",
			   class == PATH_CLASSES ? 0 : (unsigned long long)c->calls[class][i]);
	for (int i = 0; i < NEGATIVE_EVENTS; i++)
		buf_printf(out, ",%llu",
			   class == PATH_CLASSES ? (unsigned long long)c->negatives[i] : 0);
	buf_put_byte(out, '\n');
}

int profile_put_top_paths(const struct profile_facts *f, struct buf *out)
{
	buf_put_str(out, "category,path,total_events,cache_hits,cache_misses,negative_results,"
			 "ttl_stores,ttl_serves,ttl_expires,ttl_clears\n");
	for (int class = 0; class <= PATH_CLASSES; class ++) {
		const struct path_row **rows;
		size_t count;

		if (profile_rank_paths(f, (enum path_class) class, &rows, &count) < 0)
			return -ENOMEM;
		for (size_t i = 0; i < count && i < f->config->top_paths; i++)
			put_top_row(f, rows[i], class, out);
		free(rows);
	}
	return 0;
}

void profile_put_latency(const struct profile_facts *f, struct buf *out)
{
	static const double shares[] = { 0.5, 0.9, 0.99, 0.999 };

	buf_put_str(out, "operation,total_calls,p50_us,p90_us,p99_us,p999_us,max_us,"
			 "total_latency_s,storage_wait_s,bytes\n");
	for (int op = 0; op < METRICS_OPS; op++) {
		const struct metrics_counts *c = &f->ops[op];

		if (!c->sums[METRICS_CALLS])
			continue;
		buf_printf(out, "%s,%llu", metrics_op_names[op],
			   (unsigned long long)c->sums[METRICS_CALLS]);
		for (size_t i = 0; i < ARRAY_LEN(shares); i++)
			buf_printf(out, ",%.3f", us_of((uint64_t)metrics_quantile(c, shares[i])));
		buf_printf(out, ",%.3f,%.6f,%.6f,%llu\n", us_of(c->max_ns),
			   seconds_of(c->sums[METRICS_NS]), seconds_of(c->sums[METRICS_STORAGE_NS]),
			   (unsigned long long)c->sums[METRICS_BYTES]);
	}
}

void profile_put_paths(const struct profile_facts *f, struct buf *out)
{
	buf_put_str(out, "path,getattr_calls,read_calls,readdir_calls,cache_hits,cache_misses,"
			 "negative_results,bytes,getattr_us,read_us,readdir_us\n");
	for (size_t i = 0; i < f->paths.rows.count; i++) {
		const struct path_row *row = path_list_get(&f->paths, i);
		const struct path_counts *c = &row->counts;

		if (row->is_evicted)
			continue;
		put_path(out, f, row);
		for (int class = 0; class < PATH_CLASSES; class ++)
			buf_printf(
				out, ",%llu",
				(unsigned long long)path_counts_events(c, (enum path_class) class));
		for (int result = 0; result < PATH_RESULTS; result++)
			buf_printf(out, ",%llu",
				   (unsigned long long)(c->calls[PATH_METADATA][result] +
							c->calls[PATH_DATA][result] +
							c->calls[PATH_TREE][result]));
		buf_printf(out, ",%llu", (unsigned long long)path_counts_bytes(c));
		for (int class = 0; class < PATH_CLASSES; class ++)
			buf_printf(out, ",%.3f", us_of(path_counts_ns(c, (enum path_class) class)));
		buf_put_byte(out, '\n');
	}
}

void profile_put_timeline(const struct timeline *t, struct buf *out)
{
	buf_put_str(out, "start_s,duration_s,calls,cache_hits,cache_misses,negative_results,"
			 "latency_s,storage_wait_s,bytes\n");
	for (size_t i = 0; i < t->count; i++) {
		const struct timeline_step *s = &t->steps[i];

		buf_printf(out, "%.3f,%.3f", seconds_of((uint64_t)s->start_ns),
			   seconds_of((uint64_t)(s->end_ns - s->start_ns)));
		for (int k = METRICS_CALLS; k <= METRICS_NEGATIVES; k++)
			buf_printf(out, ",%llu", (unsigned long long)s->sums[k]);
		buf_printf(out, ",%.6f,%.6f,%llu\n", seconds_of(s->sums[METRICS_NS]),
			   seconds_of(s->sums[METRICS_STORAGE_NS]),
			   (unsigned long long)s->sums[METRICS_BYTES]);
	}
}

void profile_put_usage(const struct profile_facts *f, struct buf *out)
{
	static const char *const names[] = { "data", "tree", "metadata" };
	uint64_t entries = 0;

	buf_put_str(out, "table,used_bytes,entries,budget_bytes,remaining_bytes\n");
	for (int i = 0; i < USAGE_TABLES; i++) {
		buf_printf(out, "%s,%llu,%llu,,\n", names[i], (unsigned long long)f->used_bytes[i],
			   (unsigned long long)f->entries[i]);
		entries += f->entries[i];
	}
	buf_printf(out, "combined,%llu,%llu,%llu,%llu\n", (unsigned long long)profile_facts_used(f),
		   (unsigned long long)entries, (unsigned long long)f->config->budget_bytes,
		   (unsigned long long)profile_facts_remaining(f));
}
