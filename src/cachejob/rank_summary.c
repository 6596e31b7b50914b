/* SPDX-License-Identifier: MIT */
#include "cachejob/rank_summary.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cachefs/profile/profile_tables.h"

#define MAX_CELLS 8
#define MAX_ROWS 1024 /* of a table */

/* The tables of a kind, and where its values are. */
static const struct layout {
	const char *headings[2];
	size_t cells;                        /* of a row */
	size_t value_cells[RANK_MAX_VALUES]; /* by value */
	size_t values;
} layouts[RANK_FILES] = {
	[RANK_METRICS] = { { "## Derived High-Level Metrics", "## Storage and Memory" },
			   2,
			   { 1 },
			   METRIC_VALUES },
	[RANK_OPERATIONS] = { { "## Aggregate Operation Metrics", "" },
			      7,
			      { 1, 2, 3, 4, 6 },
			      OPERATION_VALUES },
	[RANK_LATENCY] = { { "## Latency Percentiles", "" },
			   7,
			   { 1, 2, 3, 4, 5, 6 },
			   LATENCY_VALUES },
};

/* Cuts "| a | b |" into its cells, in place. Returns how many there are; more are not cut. */
static size_t cut(char *line, char *cells[MAX_CELLS])
{
	size_t count = 0;

	while (count < MAX_CELLS && strncmp(line, "| ", 2) == 0) {
		char *end = strstr(line + 2, " |");

		if (!end)
			break;
		*end = '\0';
		cells[count++] = line + 2;
		line = end + 1;
		*line = '|';
	}
	return count;
}

/* "`read`": an operation. Else the description of a metric. NULL: neither. */
static const char *find_name(enum rank_file kind, char *cell)
{
	size_t len = strlen(cell);

	if (kind != RANK_METRICS) {
		if (len < 3 || cell[0] != '`' || cell[len - 1] != '`')
			return NULL;
		cell[len - 1] = '\0';
		return cell + 1;
	}
	for (size_t i = 0; i < PROFILE_METRICS; i++) {
		const struct profile_metric *m = &profile_metrics[i];

		if (strncmp(m->description, cell, len) == 0 &&
		    (len == profile_metric_len(m, true) || len == profile_metric_len(m, false)))
			return m->name;
	}
	return NULL;
}

static bool is_listed(const struct rows *rows, const char *name)
{
	const struct rank_row *all = rows->data;

	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(all[i].name, name) == 0)
			return true;
	return false;
}

static int read_row(enum rank_file kind, char *line, struct rows *ret, struct err *e)
{
	const struct layout *l = &layouts[kind];
	char *cells[MAX_CELLS];
	struct rank_row *row;
	const char *name;
	int rc = 0;

	if (cut(line, cells) != l->cells)
		return err_set(e, -EINVAL, "not a row of %zu cells", l->cells);
	name = find_name(kind, cells[0]);
	if (!name && kind == RANK_METRICS)
		return 0; /* of another version */
	if (!name || is_listed(ret, name) || ret->count == MAX_ROWS)
		return err_set(e, -EINVAL, "no new name: '%.64s'", cells[0]);
	row = rows_add(ret, sizeof *row);
	if (!row)
		return err_nomem(e);
	row->name = name;
	row->len = strlen(name);
	for (size_t i = 0; rc == 0 && i < l->values; i++) {
		const char *text = cells[l->value_cells[i]];

		rc = decimal_parse(&row->values[i], text, strlen(text), e);
	}
	return rc;
}

static bool is_heading(const struct layout *l, const char *line)
{
	return strcmp(line, l->headings[0]) == 0 ||
	       (*l->headings[1] && strcmp(line, l->headings[1]) == 0);
}

int rank_summary_parse(enum rank_file kind, char *text, size_t len, struct rows *ret, struct err *e)
{
	const struct layout *l = &layouts[kind];
	bool is_wanted = false;
	size_t number = 0, head = 0; /* head: lines of the table so far, of its two */

	assert(l->values);
	for (char *line = text, *next; line < text + len; line = next) {
		char *end = memchr(line, '\n', (size_t)(text + len - line));
		int rc = 0;

		next = end ? end + 1 : text + len;
		if (end)
			*end = '\0';
		number++;
		if (strncmp(line, "## ", 3) == 0) {
			is_wanted = is_heading(l, line);
			head = 0;
		} else if (is_wanted && *line == '|' && head++ >= 2) {
			rc = read_row(kind, line, ret, e);
		}
		if (rc < 0)
			return rc == -EINVAL ? err_wrap(e, "line %zu", number) : rc;
	}
	return 0;
}
