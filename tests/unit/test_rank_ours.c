/* SPDX-License-Identifier: MIT */
/* A rank's numbers from its summary, and its paths from its profile. */
#include "cachejob/rank_profile.h"
#include "cachejob/rank_summary.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "cachefs/profile/profile_stacks.h"
#include "format/pprof/pprof.h"
#include "tap.h"

/* The rows as text, "name=index:value ..." of the values that are not 0. */
static const char *shown(const struct rows *rows)
{
	static char text[512];
	CLEANUP(buf_fini) struct buf out = { 0 };

	for (size_t i = 0; i < rows->count; i++) {
		const struct rank_row *row = (const struct rank_row *)rows->data + i;

		buf_printf(&out, "%s=", row->name);
		for (size_t k = 0; k < RANK_MAX_VALUES; k++)
			if (!decimal_is_zero(row->values[k])) {
				buf_printf(&out, "%zu:", k);
				decimal_put(&out, row->values[k]);
				buf_put_byte(&out, ' ');
			}
	}
	snprintf(text, sizeof text, "%s", out.data ? out.data : "");
	return text;
}

static const char *parse(enum rank_file kind, const char *text)
{
	static char reason[512];
	CLEANUP(buf_fini) struct buf copy = { 0 };
	CLEANUP(rows_fini) struct rows rows = { 0 };
	struct err e = { 0 };

	buf_put_str(&copy, text);
	buf_put_byte(&copy, '\0');
	if (rank_summary_parse(kind, copy.data, strlen(text), &rows, &e) == 0)
		return shown(&rows);
	snprintf(reason, sizeof reason, "!%s", e.msg);
	return reason;
}

static void test_summary(void)
{
	static const struct {
		enum rank_file kind;
		const char *text, *want;
	} rows[] = {
		{ RANK_METRICS, "", "" },
		{ RANK_METRICS, "# Title\n\n## Other\n| a | b |\n|--|\n| c | 1 |\n", "" },
		{ RANK_METRICS,
		  "## Derived High-Level Metrics\n\n| Metric | Value |\n|---|---:|\n"
		  "| Total cache hits | 5 |\n| Of another version | x |\n"
		  "| Estimated cache-served operations saved by Copper | 7 |\n"
		  "\n## Storage and Memory\n\n| Metric | Value |\n|---|---:|\n"
		  "| Part of it spent waiting for storage (s) | 1.250000 |\n",
		  "total_cache_hits=0:5 estimated_cache_served_operations_saved_by_copper=0:7 "
		  "total_storage_wait_seconds=0:1.250000 " },
		{ RANK_METRICS,
		  "## Derived High-Level Metrics\n| Metric | Value |\n|---|---:|\n"
		  "| Estimated cache-served operations saved | 7 |",
		  "estimated_cache_served_operations_saved_by_copper=0:7 " },
		{ RANK_METRICS,
		  "## Derived High-Level Metrics\n| Metric | Value |\n|---|---:|\n"
		  "| Total cache hits | -5 |\n",
		  "!line 4: '-5' is not a count" },
		{ RANK_METRICS,
		  "## Derived High-Level Metrics\n| Metric | Value |\n|---|---:|\n"
		  "| Total cache hits | 5 |\n| Total cache hits | 5 |\n",
		  "!line 5: no new name: 'Total cache hits'" },
		{ RANK_OPERATIONS,
		  "## Aggregate Operation Metrics\n| Operation |...|\n|---|\n"
		  "| `read` | 4 | 2 | 1 | 1 | 250.00 | 0.001000 |\n",
		  "read=0:4 1:2 2:1 3:1 4:0.001000 " },
		{ RANK_OPERATIONS,
		  "## Aggregate Operation Metrics\n| Operation |...|\n|---|\n| `read` | 4 | 2 |\n",
		  "!line 4: not a row of 7 cells" },
		{ RANK_LATENCY,
		  "## Latency Percentiles\n\nText.\n\n| Operation |...|\n|---|\n"
		  "| `read` | 1.500 | 2.000 | 3.000 | 4.125 | 0.000005 | 77 |\n",
		  "read=0:1.500000 1:2.000000 2:3.000000 3:4.125000 4:0.000005 5:77 " },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(parse(rows[i].kind, rows[i].text), rows[i].want);
}

static void add(struct profile *p, const char *folder, const char *name, const char *operation,
		const char *result, const char *bytes, const int64_t values[4])
{
	const struct function part = { .name = profile_str(p, name),
				       .file = profile_str(p, folder) };
	const struct line line = { .function = profile_add_function(p, &part) };
	const struct location at = { .lines = &line, .line_count = 1 };
	const struct label labels[] = {
		{ .key = profile_str(p, "operation"), .str = profile_str(p, operation) },
		{ .key = profile_str(p, "result"), .str = profile_str(p, result) },
		{ .key = profile_str(p, PROFILE_STACKS_BYTES), .str = profile_str(p, bytes) },
	};

	profile_add(p, profile_push(p, 0, profile_add_location(p, &at)),
		    profile_add_labels(p, labels, *bytes ? 3 : 2), values);
}

static struct profile *make_profile(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "calls", "count");
	profile_add_type(p, "bytes", "bytes");
	profile_add_type(p, "time", "nanoseconds");
	profile_add_type(p, "negative_entries", "count");
	return p;
}

static int read(struct profile *p, struct rank_profile **ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf bytes = { 0 };
	int rc = pprof_write(p, &bytes, e);

	if (CHECK_INT(rc, 0))
		rc = rank_profile_read(bytes.data, bytes.len, ret, e);
	profile_free(p);
	return rc;
}

static void test_profile(void)
{
	struct profile *p = make_profile();
	struct rank_profile *r;
	struct err e = { 0 };

	add(p, "/", "/", "readdir", "miss", "", (const int64_t[]){ 1, 0, 2500, 0 });
	add(p, "/usr/", "a b", "getattr", "hit", "", (const int64_t[]){ 3, 0, 1001, 0 });
	add(p, "/usr/", "a b", "getattr", "negative", "", (const int64_t[]){ 2, 0, 0, 0 });
	add(p, "/usr/", "a b", "read", "miss", "", (const int64_t[]){ 1, 77, 9000, 0 });
	add(p, "/usr/", "no", "negative_entry", "serve", "", (const int64_t[]){ 0, 0, 0, 6 });
	add(p, "/usr/", "\\xff", "read", "hit", "2f7573722fff", (const int64_t[]){ 4, 5, 0, 0 });
	if (!CHECK_INT(read(p, &r, &e), 0))
		return;
	CHECK_STR(shown(rank_profile_rows(r, RANK_METADATA_EVENTS)), "/usr/a b=0:5 1:3 3:2 ");
	CHECK_STR(shown(rank_profile_rows(r, RANK_DATA_EVENTS)),
		  "/usr/a b=0:1 2:1 /usr/\xff=0:4 1:4 ");
	CHECK_STR(shown(rank_profile_rows(r, RANK_TREE_EVENTS)), "/=0:1 2:1 ");
	CHECK_STR(shown(rank_profile_rows(r, RANK_TTL_EVENTS)), "/usr/no=0:6 5:6 ");
	CHECK_STR(shown(rank_profile_rows(r, RANK_COSTS)),
		  "/=2:2.500000 /usr/a b=0:1.001000 1:9.000000 3:77 /usr/\xff=3:5 ");
	rank_profile_free(r);
}

static void test_hostile(void)
{
	static const struct {
		const char *folder, *name, *bytes;
		int64_t calls;
	} rows[] = {
		{ "usr/", "a", "", 1 },      /* not from the root */
		{ "", "", "", 1 },           /* nothing */
		{ "/", "a", "2f7", 1 },      /* half a byte */
		{ "/", "a", "2g", 1 },       /* no digit */
		{ "/", "a", "2f00", 1 },     /* a NUL */
		{ "/", "a", "", -1 },        /* less than none */
		{ "/", "a", "", INT64_MAX }, /* more than any counter has */
	};
	struct rank_profile *r;
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct profile *p = make_profile();

		add(p, rows[i].folder, rows[i].name, "read", "hit", rows[i].bytes,
		    (const int64_t[]){ rows[i].calls, 0, 0, 0 });
		if (!CHECK_INT(read(p, &r, &e), -EINVAL))
			fprintf(stderr, "row %zu\n", i);
	}
	CHECK_INT(rank_profile_read("junk", 4, &r, &e), -EINVAL);
	CHECK_INT(read(profile_new(), &r, &e), -EINVAL);
}

int main(void)
{
	TAP_CASE(test_summary);
	TAP_CASE(test_profile);
	TAP_CASE(test_hostile);
	return tap_done();
}
