/* SPDX-License-Identifier: MIT */
#include "cachejob/rank_file.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/csv_read.h"

#define MAX_NAMES 1024 /* of metrics or operations of a rank */

const char *const path_category_names[] = { "metadata", "data", "tree", "metadata_ttl", NULL };

/* The columns that a CSV file must have. */
struct layout {
	const char *name, *group; /* group: of the category; NULL: none */
	bool has_paths;           /* the names are paths, any number of them */
	const char *values[RANK_MAX_VALUES + 1];
};

static const struct layout layouts[RANK_FILES] = {
	[RANK_METRICS] = { "metric", NULL, false, { "value" } },
	[RANK_OPERATIONS] = { "operation",
			      NULL,
			      false,
			      { "total_calls", "cache_hits", "cache_misses", "negative_results",
				"total_latency_s" } },
	[RANK_COSTS] = { "path", NULL, true, { "getattr_us", "read_us", "readdir_us", "bytes" } },
	[RANK_LATENCY] = { "operation",
			   NULL,
			   false,
			   { "p50_us", "p90_us", "p99_us", "max_us", "storage_wait_s", "bytes" } },
	[RANK_TOP_PATHS] = { "path",
			     "category",
			     true,
			     { "total_events", "cache_hits", "cache_misses", "negative_results",
			       "ttl_stores", "ttl_serves", "ttl_expires", "ttl_clears" } },
};

/* The positions of a layout's columns in this file. */
struct columns {
	size_t name, group, values[RANK_MAX_VALUES], value_count, count;
};

static int find_column(const struct csv *c, const char *name, size_t *ret, struct err *e)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->cells[i].text, name) == 0) {
			*ret = i;
			return 0;
		}
	return err_set(e, -EINVAL, "line 1: no column '%s'", name);
}

static int find_columns(struct csv *c, const struct layout *l, struct columns *ret, struct err *e)
{
	int rc = csv_next(c, e);

	if (rc == 0)
		return err_set(e, -EINVAL, "line 1: it is empty");
	if (rc > 0)
		rc = find_column(c, l->name, &ret->name, e);
	if (rc == 0 && l->group)
		rc = find_column(c, l->group, &ret->group, e);
	for (size_t i = 0; rc == 0 && l->values[i]; i++) {
		rc = find_column(c, l->values[i], &ret->values[i], e);
		ret->value_count = i + 1;
	}
	ret->count = c->count;
	return rc;
}

static int read_category(const struct csv_cell *cell, enum path_category *ret, struct err *e)
{
	for (int i = 0; i < PATH_CATEGORIES; i++)
		if (strcmp(cell->text, path_category_names[i]) == 0) {
			*ret = (enum path_category)i;
			return 0;
		}
	return err_set(e, -EINVAL, "no category '%.64s'", cell->text);
}

/* Is it no valid name or path? */
static int check_name(const struct rank_row *row, bool is_path, struct err *e)
{
	if (!row->len || strlen(row->name) != row->len)
		return err_set(e, -EINVAL, "a name that is empty or holds a NUL");
	if (is_path && row->name[0] != '/')
		return err_set(e, -EINVAL, "'%.64s' is not a path from the root", row->name);
	return 0;
}

static int read_record(const struct csv *c, const struct layout *l, const struct columns *at,
		       struct rank_row *row, struct err *e)
{
	const struct csv_cell *name = &c->cells[at->name];
	int rc = 0;

	if (c->count != at->count)
		return err_set(e, -EINVAL, "%zu cells instead of %zu", c->count, at->count);
	row->name = name->text;
	row->len = name->len;
	rc = check_name(row, l->has_paths, e);
	if (rc == 0 && l->group)
		rc = read_category(&c->cells[at->group], &row->category, e);
	for (size_t i = 0; rc == 0 && i < at->value_count; i++) {
		const struct csv_cell *cell = &c->cells[at->values[i]];

		rc = decimal_parse(&row->values[i], cell->text, cell->len, e);
	}
	return rc;
}

/* A file lists a metric or an operation only once. */
static int check_once(const struct rows *rows, const struct rank_row *row, struct err *e)
{
	const struct rank_row *all = rows->data;

	if (rows->count > MAX_NAMES)
		return err_set(e, -EINVAL, "more than %d names", MAX_NAMES);
	for (size_t i = 0; i + 1 < rows->count; i++)
		if (strcmp(all[i].name, row->name) == 0)
			return err_set(e, -EINVAL, "'%.64s' is listed twice", row->name);
	return 0;
}

static int parse_csv(const struct layout *l, char *text, size_t len, struct rows *ret,
		     struct err *e)
{
	struct columns at = { 0 };
	struct csv c;
	int rc;

	csv_init(&c, text, len);
	rc = find_columns(&c, l, &at, e);
	if (rc < 0)
		return rc;
	while ((rc = csv_next(&c, e)) > 0) {
		struct rank_row *row = rows_add(ret, sizeof *row);

		if (!row)
			return err_nomem(e);
		rc = read_record(&c, l, &at, row, e);
		if (rc == 0 && !l->has_paths)
			rc = check_once(ret, row, e);
		if (rc < 0)
			return err_wrap(e, "line %llu", (unsigned long long)c.line);
	}
	if (rc == 0 && !ret->count && !l->has_paths)
		return err_set(e, -EINVAL, "line 2: cut short: nothing but a head");
	return rc;
}

/* A table of events: blocks of a path and its counts. */

struct events {
	char *start, *at, *end;
	const char *const *labels; /* of the counts, in their order; ends with NULL */
	enum path_value first;     /* the value of the first label */
};

static const char *const table_labels[] = { "cache hits: ", "cache misses: ", "neg: ", NULL };
static const char *const ttl_labels[] = { "stores: ", "serves: ", "expires: ", "clears: ", NULL };

static int fail_at(const struct events *in, const char *at, const char *reason, struct err *e)
{
	unsigned long long line = 1;

	for (const char *p = in->start; p < at; p++)
		line += *p == '\n';
	return err_set(e, -EINVAL, "line %llu: %s", line, reason);
}

static char *skip_blanks(const struct events *in, char *at)
{
	while (at < in->end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

static bool starts(const struct events *in, const char *at, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(in->end - at) >= len && memcmp(at, text, len) == 0;
}

/* Finds the " {" after a path, which may contain newlines: the first one that counts follow. */
static char *find_path_end(const struct events *in)
{
	char *at = in->at;

	while ((at = memmem(at, (size_t)(in->end - at), " {\n", 3))) {
		if (starts(in, skip_blanks(in, at + 3), in->labels[0]))
			return at;
		at++;
	}
	return NULL;
}

static int read_count(struct events *in, const char *label, struct decimal *ret, struct err *e)
{
	char *line_end, *text_end;

	in->at = skip_blanks(in, in->at);
	if (!starts(in, in->at, label))
		return fail_at(in, in->at, "cut short: counts are missing", e);
	in->at += strlen(label);
	line_end = memchr(in->at, '\n', (size_t)(in->end - in->at));
	if (!line_end)
		return fail_at(in, in->at, "cut short: a count has no end", e);
	text_end = line_end > in->at && line_end[-1] == ',' ? line_end - 1 : line_end;
	if (decimal_parse(ret, in->at, (size_t)(text_end - in->at), e) < 0 || ret->has_point)
		return fail_at(in, in->at, "no count", e);
	in->at = line_end + 1;
	return 0;
}

static int read_block(struct events *in, struct rank_row *row, struct err *e)
{
	const char *start = in->at;
	char *path_end = find_path_end(in);
	int rc;

	if (!path_end)
		return fail_at(in, start, "cut short: a path has no counts", e);
	*path_end = '\0';
	row->name = start;
	row->len = (size_t)(path_end - start);
	if (check_name(row, true, e) < 0)
		return fail_at(in, start, "this is not a path from the root", e);
	in->at = path_end + 3;
	for (size_t i = 0; in->labels[i]; i++) {
		rc = read_count(in, in->labels[i], &row->values[in->first + i], e);
		if (rc < 0)
			return rc;
		decimal_add(&row->values[PATH_EVENTS], row->values[in->first + i]);
	}
	in->at = skip_blanks(in, in->at);
	if (!starts(in, in->at, "}\n"))
		return fail_at(in, in->at, "cut short: a path's counts have no end", e);
	in->at += 2;
	return 0;
}

static int parse_events(enum path_category category, char *text, size_t len, struct rows *ret,
			struct err *e)
{
	bool is_ttl = category == CATEGORY_TTL;
	struct events in = { text, text, text + len, is_ttl ? ttl_labels : table_labels,
			     is_ttl ? PATH_STORES : PATH_HITS };
	char *title_end = memmem(text, len, " Events {\n", 10);

	if (!title_end || memchr(text, '\n', (size_t)(title_end - text)))
		return err_set(e, -EINVAL, "line 1: not a table of events");
	in.at = title_end + 10;
	while ((in.at = skip_blanks(&in, in.at)) < in.end && *in.at != '}') {
		struct rank_row *row = rows_add(ret, sizeof *row);
		int rc;

		if (!row)
			return err_nomem(e);
		row->category = category;
		rc = read_block(&in, row, e);
		if (rc < 0)
			return rc;
	}
	if (in.at == in.end)
		return fail_at(&in, in.at, "cut short: the table has no end", e);
	in.at++;
	if (in.at < in.end && *in.at == '\n')
		in.at++;
	return in.at == in.end ? 0 : fail_at(&in, in.at, "something stands behind the table", e);
}

int rank_file_parse(enum rank_file kind, char *text, size_t len, struct rows *ret, struct err *e)
{
	assert(ret->count == 0 && kind < RANK_SUMMARY);
	switch (kind) {
	case RANK_METADATA_EVENTS:
		return parse_events(CATEGORY_METADATA, text, len, ret, e);
	case RANK_DATA_EVENTS:
		return parse_events(CATEGORY_DATA, text, len, ret, e);
	case RANK_TREE_EVENTS:
		return parse_events(CATEGORY_TREE, text, len, ret, e);
	case RANK_TTL_EVENTS:
		return parse_events(CATEGORY_TTL, text, len, ret, e);
	default:
		return parse_csv(&layouts[kind], text, len, ret, e);
	}
}
