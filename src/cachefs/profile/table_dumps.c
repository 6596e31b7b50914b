/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/table_dumps.h"

#include <stdlib.h>
#include <string.h>

#include "cachefs/profile/table_contents.h"

const char *const table_dump_names[TABLE_DUMPS] = {
	[DUMP_TABLES] = "cache_tables.output",
	[DUMP_COUNTS] = "operation_count.output",
	[DUMP_TIMES] = "operation_time.output",
	[DUMP_HITS] = "operation_cache_hit.output",
	[DUMP_MISSES] = "operation_cache_miss.output",
	[DUMP_NEGATIVES] = "operation_cache_neg.output",
	[DUMP_DATA_EVENTS] = "data_table_cache_event.output",
	[DUMP_TREE_EVENTS] = "tree_table_cache_event.output",
	[DUMP_METADATA_EVENTS] = "md_table_cache_event.output",
	[DUMP_ABSENT_EVENTS] = "md_ttl_cache_event.output",
	[DUMP_DATA_SIZE] = "data_cache_size.output",
	[DUMP_TREE_SIZE] = "tree_cache_size.output",
	[DUMP_METADATA_SIZE] = "md_cache_size.output",
};

struct op_value {
	int op;
	uint64_t value;
};

static int by_value(const void *left, const void *right)
{
	const struct op_value *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->op - b->op;
}

static void put_operations(const struct profile_facts *f, const char *title, enum metrics_sum sum,
			   struct buf *out)
{
	struct op_value values[METRICS_OPS];

	for (int op = 0; op < METRICS_OPS; op++) {
		uint64_t value = f->ops[op].sums[sum];

		values[op] = (struct op_value){ op, sum == METRICS_NS ? value / 1000 : value };
	}
	qsort(values, METRICS_OPS, sizeof *values, by_value);
	buf_printf(out, "%s {\n", title);
	for (int i = 0; i < METRICS_OPS; i++)
		buf_printf(out, "%s: %llu%s\n", metrics_op_names[values[i].op],
			   (unsigned long long)values[i].value, i + 1 < METRICS_OPS ? "," : "");
	buf_put_byte(out, '}');
}

/* " {" and a line end stand behind a path: in one they would be read as its end. */
static void put_path(const struct profile_facts *f, const struct path_row *row, struct buf *out)
{
	const char *path = path_list_path(&f->paths, row), *end;

	while ((end = strstr(path, " {\n"))) {
		buf_put(out, path, (size_t)(end - path));
		buf_put_str(out, " {\\n");
		path = end + 3;
	}
	buf_put_str(out, path);
}

static void put_events(const struct profile_facts *f, const char *title, enum path_class class,
		       struct buf *out)
{
	buf_printf(out, "%s {\n", title);
	for (size_t i = 0; i < f->paths.rows.count; i++) {
		const struct path_row *row = path_list_get(&f->paths, i);
		const struct path_counts *c = &row->counts;

		if (row->is_forgotten || !path_counts_events(c, class))
			continue;
		put_path(f, row, out);
		buf_printf(out, " {\ncache hits: %llu,\ncache misses: %llu,\nneg: %llu\n}\n",
			   (unsigned long long)c->calls[class][METRICS_HIT],
			   (unsigned long long)c->calls[class][METRICS_MISS],
			   (unsigned long long)c->calls[class][METRICS_NEGATIVE]);
	}
	buf_put_byte(out, '}');
}

static void put_absent(const struct profile_facts *f, struct buf *out)
{
	buf_put_str(out, "Metadata ENOENT TTL Events {\n");
	for (size_t i = 0; i < f->paths.rows.count; i++) {
		const struct path_row *row = path_list_get(&f->paths, i);
		const struct path_counts *c = &row->counts;

		if (row->is_forgotten || !path_counts_absent_events(c))
			continue;
		put_path(f, row, out);
		buf_printf(out,
			   " {\nstores: %llu,\nserves: %llu,\nexpires: %llu,\nclears: %llu\n}\n",
			   (unsigned long long)c->absent[ABSENT_STORE],
			   (unsigned long long)c->absent[ABSENT_SERVE],
			   (unsigned long long)c->absent[ABSENT_EXPIRE],
			   (unsigned long long)c->absent[ABSENT_CLEAR]);
	}
	buf_put_byte(out, '}');
}

int table_dump_put(enum table_dump dump, const struct profile_facts *f, struct cache *c,
		   struct buf *out)
{
	static const char *const titles[] = {
		[DUMP_COUNTS] = "Aggregate Operation Counter",
		[DUMP_TIMES] = "Aggregate Operation Time (microseconds)",
		[DUMP_HITS] = "Aggregate Operation Cache Hit",
		[DUMP_MISSES] = "Aggregate Operation Cache Miss",
		[DUMP_NEGATIVES] = "Aggregate Operation Cache Negative",
	};
	static const enum metrics_sum sums[] = {
		[DUMP_COUNTS] = METRICS_CALLS,        [DUMP_TIMES] = METRICS_NS,
		[DUMP_HITS] = METRICS_HITS,           [DUMP_MISSES] = METRICS_MISSES,
		[DUMP_NEGATIVES] = METRICS_NEGATIVES,
	};

	switch (dump) {
	case DUMP_DATA_EVENTS:
		put_events(f, "Data Cache Events", PATH_DATA, out);
		break;
	case DUMP_TREE_EVENTS:
		put_events(f, "Tree Cache Events", PATH_TREE, out);
		break;
	case DUMP_METADATA_EVENTS:
		put_events(f, "Metdata Cache Events", PATH_METADATA, out); /* as Copper spells it */
		break;
	case DUMP_ABSENT_EVENTS:
		put_absent(f, out);
		break;
	case DUMP_TABLES:
	case DUMP_DATA_SIZE:
	case DUMP_TREE_SIZE:
	case DUMP_METADATA_SIZE:
		return table_contents_put(dump, f->about->target, c, out);
	default:
		put_operations(f, titles[dump], sums[dump], out);
	}
	return buf_error(out);
}
