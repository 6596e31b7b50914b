/* SPDX-License-Identifier: MIT */
#include "cachejob/rank_file.h"

#include "base/buf.h"
#include "tap.h"

#define TOP_HEAD                                                                          \
	"category,path,total_events,cache_hits,cache_misses,negative_results,ttl_stores," \
	"ttl_serves,ttl_expires,ttl_clears\n"
#define OPERATIONS_HEAD                                                                  \
	"operation,total_calls,cache_hits,cache_misses,negative_results,avg_latency_us," \
	"total_latency_s\n"

/* The rows as text, "name=a/b/c " with the values that are not 0; or "!" and the reason. */
static const char *parse(enum rank_file kind, const char *text)
{
	static char shown[512];
	CLEANUP(buf_fini) struct buf copy = { 0 }, out = { 0 };
	CLEANUP(rows_fini) struct rows rows = { 0 };
	struct err e = { 0 };
	int rc;

	buf_put_str(&copy, text);
	buf_put_byte(&copy, '\0');
	rc = rank_file_parse(kind, copy.data, strlen(text), &rows, &e);
	for (size_t i = 0; rc == 0 && i < rows.count; i++) {
		const struct rank_row *row = (const struct rank_row *)rows.data + i;

		buf_printf(&out, "%s%s=", path_category_names[row->category], row->name);
		for (size_t k = 0; k < RANK_MAX_VALUES; k++)
			if (!decimal_is_zero(row->values[k])) {
				buf_printf(&out, "%zu:", k);
				decimal_put(&out, row->values[k]);
				buf_put_byte(&out, ' ');
			}
	}
	if (rc < 0)
		buf_printf(&out, "!%s", e.msg);
	snprintf(shown, sizeof shown, "%s", out.data ? out.data : "");
	return shown;
}

static void test_csv(void)
{
	static const struct {
		enum rank_file kind;
		const char *text, *want;
	} rows[] = {
		{ RANK_METRICS, "metric,value\nhits,5\ns,1.25\n",
		  "metadatahits=0:5 metadatas=0:1.250000 " },
		{ RANK_METRICS, "more,value,metric\n\"x\ny\",5,hits\n", "metadatahits=0:5 " },
		{ RANK_METRICS, "", "!line 1: it is empty" },
		{ RANK_METRICS, "metric,value\n", "!line 2: cut short: nothing but a head" },
		{ RANK_METRICS, "metric\nx\n", "!line 1: no column 'value'" },
		{ RANK_METRICS, "metric,value\na,1\na,2\n", "!line 3: 'a' is listed twice" },
		{ RANK_METRICS, "metric,value\na,1\nb\n", "!line 3: 1 cells instead of 2" },
		{ RANK_METRICS, "metric,value\na,-1\n", "!line 2: '-1' is not a count" },
		{ RANK_METRICS, "metric,value\n,1\n",
		  "!line 2: a name that is empty or holds a NUL" },
		{ RANK_OPERATIONS, OPERATIONS_HEAD "read,4,1,2,1,250.00,0.001000\n",
		  "metadataread=0:4 1:1 2:2 3:1 4:0.001000 " },
		{ RANK_OPERATIONS, OPERATIONS_HEAD "read,4,1,2,1,250.00,0.0010",
		  "!line 2: cut short: it has no end" },
		{ RANK_TOP_PATHS, TOP_HEAD, "" },
		{ RANK_TOP_PATHS, TOP_HEAD "tree,\"/a,\n\"\"b\",3,1,2,0,0,0,0,0\n",
		  "tree/a,\n\"b=0:3 1:1 2:2 " },
		{ RANK_TOP_PATHS, TOP_HEAD "tree,a,3,1,2,0,0,0,0,0\n",
		  "!line 2: 'a' is not a path from the root" },
		{ RANK_TOP_PATHS, TOP_HEAD "trees,/a,3,1,2,0,0,0,0,0\n",
		  "!line 2: no category 'trees'" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(parse(rows[i].kind, rows[i].text), rows[i].want);
}

static void test_tables(void)
{
	static const struct {
		enum rank_file kind;
		const char *text, *want;
	} rows[] = {
		{ RANK_DATA_EVENTS, "Data Cache Events {\n}", "" },
		{ RANK_DATA_EVENTS, "Data Cache Events {\n}\n", "" },
		{ RANK_DATA_EVENTS,
		  "Data Cache Events {\n/a {\ncache hits: 1,\ncache misses: 2,\nneg: 3\n}\n}",
		  "data/a=0:6 1:1 2:2 3:3 " },
		{ RANK_TREE_EVENTS,
		  "Tree Cache Events {\n\t/a {\n\t\tcache hits: 1,\n\t\tcache misses: 0,\n\t\tneg: 0\n\t}\n}\n",
		  "tree/a=0:1 1:1 " },
		{ RANK_TTL_EVENTS,
		  "Metadata ENOENT TTL Events {\n/a {\nstores: 1,\nserves: 2,\nexpires: 3,\nclears: 4\n}\n}",
		  "metadata_ttl/a=0:10 4:1 5:2 6:3 7:4 " },
		/* a path with line ends and braces */
		{ RANK_METADATA_EVENTS,
		  "Metadata Cache Events {\n/a {\n}\n {\n/b {\ncache hits: 1,\ncache misses: 0,\nneg: 0\n}\n}",
		  "metadata/a {\n}\n {\n/b=0:1 1:1 " },
		{ RANK_DATA_EVENTS, "", "!line 1: not a table of events" },
		{ RANK_DATA_EVENTS, "x\nData Cache Events {\n}", "!line 1: not a table of events" },
		{ RANK_DATA_EVENTS, "Data Cache Events {\n",
		  "!line 2: cut short: the table has no end" },
		{ RANK_DATA_EVENTS, "Data Cache Events {\n}\n\n",
		  "!line 3: something stands behind the table" },
		{ RANK_DATA_EVENTS, "Data Cache Events {\n/a",
		  "!line 2: cut short: a path has no counts" },
		{ RANK_DATA_EVENTS, "Data Cache Events {\n/a {\ncache hits: 1",
		  "!line 3: cut short: a count has no end" },
		{ RANK_DATA_EVENTS, "Data Cache Events {\n/a {\ncache hits: 1,\nneg: 0\n}\n}",
		  "!line 4: cut short: counts are missing" },
		{ RANK_DATA_EVENTS, "Data Cache Events {\n/a {\ncache hits: 1.5,\n",
		  "!line 3: no count" },
		{ RANK_DATA_EVENTS,
		  "Data Cache Events {\n/a {\ncache hits: 1,\ncache misses: 2,\nneg: 3\n",
		  "!line 6: cut short: a path's counts have no end" },
		{ RANK_DATA_EVENTS,
		  "Data Cache Events {\na {\ncache hits: 1,\ncache misses: 2,\nneg: 3\n}\n}",
		  "!line 2: this is not a path from the root" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(parse(rows[i].kind, rows[i].text), rows[i].want);
}

int main(void)
{
	TAP_CASE(test_csv);
	TAP_CASE(test_tables);
	return tap_done();
}
