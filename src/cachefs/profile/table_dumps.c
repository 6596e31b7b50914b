/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/table_dumps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	[DUMP_TTL_EVENTS] = "md_ttl_cache_event.output",
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

/* " {" and a newline end a path, so a path that contains them is escaped. */
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

		if (row->is_evicted || !path_counts_events(c, class))
			continue;
		put_path(f, row, out);
		buf_printf(out, " {\ncache hits: %llu,\ncache misses: %llu,\nneg: %llu\n}\n",
			   (unsigned long long)c->calls[class][RESULT_HIT],
			   (unsigned long long)c->calls[class][RESULT_MISS],
			   (unsigned long long)c->calls[class][RESULT_NEGATIVE]);
	}
	buf_put_byte(out, '}');
}

static void put_absent(const struct profile_facts *f, struct buf *out)
{
	buf_put_str(out, "Metadata ENOENT TTL Events {\n");
	for (size_t i = 0; i < f->paths.rows.count; i++) {
		const struct path_row *row = path_list_get(&f->paths, i);
		const struct path_counts *c = &row->counts;

		if (row->is_evicted || !path_counts_negative_events(c))
			continue;
		put_path(f, row, out);
		buf_printf(out,
			   " {\nstores: %llu,\nserves: %llu,\nexpires: %llu,\nclears: %llu\n}\n",
			   (unsigned long long)c->negatives[NEGATIVE_STORE],
			   (unsigned long long)c->negatives[NEGATIVE_SERVE],
			   (unsigned long long)c->negatives[NEGATIVE_EXPIRE],
			   (unsigned long long)c->negatives[NEGATIVE_CLEAR]);
	}
	buf_put_byte(out, '}');
}

#define STAT_BYTES 144 /* of an entry in Copper's metadata table: sizeof(struct stat) */
#define RULE "============================================="

/* The cached state of one node. */
struct content_row {
	size_t path;   /* offset in the text */
	bool is_known; /* attr is valid */
	struct stat attr;
	uint64_t data_bytes; /* cached */
	bool has_data;
	struct dirlist *names; /* holds a reference; NULL: not cached */
};

struct gathering {
	struct cache *cache;
	const char *target;
	struct buf text;
	struct rows rows; /* struct content_row */
	bool is_bad;
};

static void read_node(struct gathering *g, struct node *n, struct content_row *row)
{
	node_lock(cache_nodes(g->cache), n);
	row->is_known = n->state == NODE_PRESENT;
	row->attr = n->attr;
	row->has_data = n->content != NULL;
	row->data_bytes = chunks_bytes(n);
	row->names = n->listing ? dirlist_ref(n->listing) : NULL;
	node_unlock(cache_nodes(g->cache), n);
}

static void visit(void *context, struct node *n)
{
	struct gathering *g = context;
	struct content_row row = { 0 }, *to;

	read_node(g, n, &row);
	if (!row.is_known && !row.has_data && !row.names)
		return;
	to = rows_add(&g->rows, sizeof row);
	if (!to) {
		g->is_bad = true;
		dirlist_unref(row.names);
		return;
	}
	row.path = g->text.len;
	*to = row;
	buf_put_str(&g->text, strcmp(g->target, "/") == 0 ? "" : g->target);
	if (n->parent || g->text.len == row.path)
		buf_put_byte(&g->text, '/');
	if (node_path(n, &g->text) < 0)
		g->is_bad = true;
	buf_put_byte(&g->text, '\0');
}

static const struct content_row *row_of(const struct gathering *g, size_t i)
{
	return (const struct content_row *)g->rows.data + i;
}

static const char *path_of(const struct gathering *g, const struct content_row *row)
{
	return g->text.data + row->path;
}

static int by_path(const void *left, const void *right, void *text)
{
	const struct content_row *a = left, *b = right;

	return strcmp((const char *)text + a->path, (const char *)text + b->path);
}

static int by_size(const void *left, const void *right, void *text)
{
	const struct content_row *a = left, *b = right;

	if (a->data_bytes != b->data_bytes)
		return a->data_bytes < b->data_bytes ? -1 : 1;
	return by_path(left, right, text);
}

/* The length of all names with "." and "..", as Copper counts it. */
static uint64_t name_bytes(const struct dirlist *names)
{
	uint64_t sum = 3;

	for (size_t i = 0; i < dirlist_count(names); i++)
		sum += strlen(dirlist_name(names, i));
	return sum;
}

static void put_sizes(const struct gathering *g, enum table_dump dump, struct buf *out)
{
	uint64_t total = 0, count = 0;

	if (dump == DUMP_METADATA_SIZE)
		buf_printf(out, "all entries should be %d bytes\n", STAT_BYTES);
	for (size_t i = 0; i < g->rows.count; i++) {
		const struct content_row *row = row_of(g, i);
		uint64_t bytes = dump == DUMP_DATA_SIZE   ? row->data_bytes
				 : dump == DUMP_TREE_SIZE ? row->names ? name_bytes(row->names) : 0
							  : STAT_BYTES;

		if (dump == DUMP_DATA_SIZE
			    ? !row->has_data
			    : (dump == DUMP_TREE_SIZE ? !row->names : !row->is_known))
			continue;
		buf_printf(out, "%s: %llu\n", path_of(g, row), (unsigned long long)bytes);
		total += bytes;
		count++;
	}
	buf_printf(out, RULE "\nTotal bytes: %llu\ntotal number of %s: %llu\n" RULE,
		   (unsigned long long)total, dump == DUMP_DATA_SIZE ? "files" : "entries",
		   (unsigned long long)count);
}

static void put_stat(const struct stat *st, struct buf *out)
{
	const struct {
		const char *name;
		long long value;
	} fields[] = {
		{ "st_dev", (long long)st->st_dev },
		{ "st_ino", (long long)st->st_ino },
		{ "st_mode", st->st_mode },
		{ "st_nlink", (long long)st->st_nlink },
		{ "st_uid", st->st_uid },
		{ "st_gid", st->st_gid },
		{ "st_rdev", (long long)st->st_rdev },
		{ "st_size", st->st_size },
		{ "st_atime", st->st_atim.tv_sec },
		{ "st_mtime", st->st_mtim.tv_sec },
		{ "st_ctime", st->st_ctim.tv_sec },
		{ "st_blksize", st->st_blksize },
		{ "st_blocks", st->st_blocks },
	};

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		buf_printf(out, "%s: %lld,\n", fields[i].name, fields[i].value);
}

static void put_names(const struct gathering *g, struct buf *out)
{
	buf_put_str(out, "tree_cache_table {\n");
	for (size_t i = 0; i < g->rows.count; i++) {
		const struct content_row *row = row_of(g, i);

		if (!row->names)
			continue;
		buf_printf(out, "%s {\n.,\n..,\n", path_of(g, row));
		for (size_t k = 0; k < dirlist_count(row->names); k++)
			buf_printf(out, "%s,\n", dirlist_name(row->names, k));
		buf_put_str(out, "}\n");
	}
	buf_put_str(out, "}\n");
}

static void put_tables(const struct gathering *g, struct buf *out)
{
	put_names(g, out);
	buf_put_str(out, "data_cache_table {\n");
	for (size_t i = 0; i < g->rows.count; i++)
		if (row_of(g, i)->has_data)
			buf_printf(out, "%s {\ndata_size: %llu\n}\n", path_of(g, row_of(g, i)),
				   (unsigned long long)row_of(g, i)->data_bytes);
	buf_put_str(out, "}\nmd_cache_table {\n");
	for (size_t i = 0; i < g->rows.count; i++) {
		if (!row_of(g, i)->is_known)
			continue;
		buf_printf(out, "%s {\nstat {\n", path_of(g, row_of(g, i)));
		put_stat(&row_of(g, i)->attr, out);
		buf_put_str(out, "}\n}\n");
	}
	buf_put_byte(out, '}');
}

static int put_contents(enum table_dump dump, const char *target, struct cache *c, struct buf *out)
{
	struct gathering g = { .cache = c, .target = target };
	int rc = cache_visit(c, visit, &g);

	if (g.is_bad || buf_error(&g.text) < 0)
		rc = -ENOMEM;
	if (rc == 0 && g.rows.count)
		qsort_r(g.rows.data, g.rows.count, sizeof(struct content_row),
			dump == DUMP_DATA_SIZE ? by_size : by_path, g.text.data);
	if (rc == 0 && dump == DUMP_TABLES)
		put_tables(&g, out);
	else if (rc == 0)
		put_sizes(&g, dump, out);
	for (size_t i = 0; i < g.rows.count; i++)
		dirlist_unref(row_of(&g, i)->names);
	buf_fini(&g.text);
	rows_fini(&g.rows);
	return rc < 0 ? rc : buf_error(out);
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
	case DUMP_TTL_EVENTS:
		put_absent(f, out);
		break;
	case DUMP_TABLES:
	case DUMP_DATA_SIZE:
	case DUMP_TREE_SIZE:
	case DUMP_METADATA_SIZE:
		return put_contents(dump, f->config->target, c, out);
	default:
		put_operations(f, titles[dump], sums[dump], out);
	}
	return buf_error(out);
}
