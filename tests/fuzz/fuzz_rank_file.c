/* SPDX-License-Identifier: MIT */
/*
 * Any text taken for a file of a rank; the first byte tells which kind, '0' for the first. What is
 * accepted has paths and counts as ranks have them, and is written back and read as the same; its
 * paths all have a class. It is also taken for a summary and for a profile. A text that is taken
 * for rules of classes, or for the head of a summary, does no harm either.
 */
#include <string.h>

#include "base/buf.h"
#include "base/quote.h"
#include "cachefs/profile/classes.h"
#include "cachejob/cluster_sums.h"
#include "cachejob/rank_file.h"
#include "cachejob/rank_profile.h"
#include "cachejob/rank_summary.h"
#include "cachejob/settings.h"
#include "fuzz.h"

static bool is_events(enum rank_file kind)
{
	return kind >= RANK_METADATA_EVENTS && kind <= RANK_TTL_EVENTS;
}

static void put_csv(enum rank_file kind, const struct rows *rows, struct buf *out)
{
	static const char *const heads[RANK_FILES] = {
		[RANK_METRICS] = "metric,value",
		[RANK_OPERATIONS] = "operation,total_calls,cache_hits,cache_misses,"
				    "negative_results,total_latency_s",
		[RANK_TOP_PATHS] = "path,total_events,cache_hits,cache_misses,negative_results,"
				   "ttl_stores,ttl_serves,ttl_expires,ttl_clears,category",
		[RANK_COSTS] = "path,getattr_us,read_us,readdir_us,bytes",
		[RANK_LATENCY] = "operation,p50_us,p90_us,p99_us,max_us,storage_wait_s,bytes",
	};
	static const size_t counts[RANK_FILES] = { [RANK_METRICS] = METRIC_VALUES,
						   [RANK_OPERATIONS] = OPERATION_VALUES,
						   [RANK_TOP_PATHS] = PATH_VALUES,
						   [RANK_COSTS] = COST_VALUES,
						   [RANK_LATENCY] = LATENCY_VALUES };
	const struct rank_row *all = rows->data;

	buf_printf(out, "%s\n", heads[kind]);
	for (size_t i = 0; i < rows->count; i++) {
		quote_csv(out, all[i].name, all[i].len);
		for (size_t k = 0; k < counts[kind]; k++) {
			buf_put_byte(out, ',');
			decimal_put(out, all[i].values[k]);
		}
		buf_printf(out, "%s%s\n", kind == RANK_TOP_PATHS ? "," : "",
			   kind == RANK_TOP_PATHS ? path_category_names[all[i].category] : "");
	}
}

static void put_events(enum rank_file kind, const struct rows *rows, struct buf *out)
{
	static const char *const table[] = { "cache hits", "cache misses", "neg", NULL };
	static const char *const ttl[] = { "stores", "serves", "expires", "clears", NULL };
	const char *const *labels = kind == RANK_TTL_EVENTS ? ttl : table;
	size_t first = kind == RANK_TTL_EVENTS ? PATH_STORES : PATH_HITS;
	const struct rank_row *all = rows->data;

	buf_put_str(out, "Some Events {\n");
	for (size_t i = 0; i < rows->count; i++) {
		buf_put(out, all[i].name, all[i].len);
		buf_put_str(out, " {\n");
		for (size_t k = 0; labels[k]; k++) {
			buf_printf(out, "%s: ", labels[k]);
			decimal_put(out, all[i].values[first + k]);
			buf_put_str(out, labels[k + 1] ? ",\n" : "\n");
		}
		buf_put_str(out, "}\n");
	}
	buf_put_byte(out, '}');
}

static void check_row(const struct rank_row *row, bool is_path, const struct classes *classes)
{
	struct str path = { row->name, row->len }, package;

	FUZZ_CHECK(row->len && row->name[row->len] == '\0' && strlen(row->name) == row->len);
	for (size_t i = 0; i < RANK_MAX_VALUES; i++)
		FUZZ_CHECK(row->values[i].integer >= 0 && row->values[i].micros >= 0 &&
			   row->values[i].micros < 1000000);
	if (!is_path)
		return;
	FUZZ_CHECK(row->name[0] == '/');
	for (int is_absent = 0; is_absent < 2; is_absent++)
		FUZZ_CHECK(classes_find(classes, is_absent, path.ptr, path.len) <
			   classes_count(classes));
	package = path_package(path);
	FUZZ_CHECK(package.len < path.len && !memchr(package.ptr, '/', package.len));
}

static void check_same(const struct rows *left, const struct rows *right)
{
	const struct rank_row *a = left->data, *b = right->data;

	FUZZ_CHECK(left->count == right->count);
	for (size_t i = 0; i < left->count; i++) {
		size_t added = quote_is_formula(a[i].name, a[i].len); /* by quote_csv() */

		FUZZ_CHECK(b[i].len == added + a[i].len);
		FUZZ_CHECK(memcmp(b[i].name + added, a[i].name, a[i].len) == 0);
		FUZZ_CHECK(a[i].category == b[i].category);
		for (size_t k = 0; k < RANK_MAX_VALUES; k++)
			FUZZ_CHECK(decimal_compare(a[i].values[k], b[i].values[k]) == 0);
	}
}

static void check_accepted(enum rank_file kind, const struct rows *rows)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(rows_fini) struct rows again = { 0 };
	struct classes *classes;
	struct err e;

	FUZZ_CHECK(classes_new(NULL, 0, &classes, &e) == 0);
	for (size_t i = 0; i < rows->count; i++)
		check_row((const struct rank_row *)rows->data + i,
			  is_events(kind) || kind == RANK_TOP_PATHS || kind == RANK_COSTS, classes);
	classes_free(classes);
	if (is_events(kind))
		put_events(kind, rows, &text);
	else
		put_csv(kind, rows, &text);
	FUZZ_CHECK(buf_error(&text) == 0);
	FUZZ_CHECK(rank_file_parse(kind, text.data, text.len, &again, &e) == 0);
	check_same(rows, &again);
}

static void check_settings(const char *text, size_t len)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct settings settings;

	FUZZ_CHECK(settings_init(&settings) == 0);
	FUZZ_CHECK(settings_add(&settings, text, len) == 0);
	settings_put(&settings, &out);
	FUZZ_CHECK(buf_error(&out) == 0);
	settings_fini(&settings);
}

/* A summary's tables, and the paths of a profile. */
static void check_ours(const char *text, size_t len, const struct classes *classes)
{
	static const enum rank_file kinds[] = { RANK_METRICS, RANK_OPERATIONS, RANK_LATENCY };
	struct rank_profile *profile;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		CLEANUP(buf_fini) struct buf copy = { 0 };
		CLEANUP(rows_fini) struct rows rows = { 0 };

		buf_put(&copy, text, len);
		FUZZ_CHECK(buf_error(&copy) == 0);
		if (rank_summary_parse(kinds[i], copy.data, copy.len, &rows, &e) < 0)
			continue;
		for (size_t k = 0; k < rows.count; k++)
			check_row((const struct rank_row *)rows.data + k, false, classes);
	}
	if (rank_profile_read(text, len, &profile, &e) < 0)
		return;
	for (int kind = RANK_METADATA_EVENTS; kind <= RANK_COSTS; kind++) {
		const struct rows *rows;

		if (!is_events((enum rank_file)kind) && kind != RANK_COSTS)
			continue;
		rows = rank_profile_rows(profile, (enum rank_file)kind);
		for (size_t k = 0; k < rows->count; k++)
			check_row((const struct rank_row *)rows->data + k, true, classes);
	}
	rank_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(rows_fini) struct rows rows = { 0 };
	struct classes *classes;
	enum rank_file kind;
	struct err e;

	if (!size)
		return 0;
	kind = (enum rank_file)((data[0] - (unsigned)'0') % RANK_SUMMARY);
	buf_put(&text, data + 1, size - 1);
	FUZZ_CHECK(buf_error(&text) == 0);
	if (classes_new(text.data, text.len, &classes, &e) == 0)
		classes_free(classes);
	check_settings(text.data, text.len);
	FUZZ_CHECK(classes_new(NULL, 0, &classes, &e) == 0);
	if (text.len)
		check_ours(text.data, text.len, classes);
	classes_free(classes);
	if (rank_file_parse(kind, text.data, text.len, &rows, &e) == 0)
		check_accepted(kind, &rows);
	return 0;
}
