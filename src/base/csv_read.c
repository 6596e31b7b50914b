/* SPDX-License-Identifier: MIT */
#include "base/csv_read.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

void csv_init(struct csv *c, char *text, size_t len)
{
	assert(text && text[len] == '\0');
	*c = (struct csv){ .at = text, .end = text + len };
}

static int fail(const struct csv *c, const char *reason, struct err *e)
{
	return err_set(e, -EINVAL, "line %llu: %s", (unsigned long long)c->line, reason);
}

/* What stands behind a cell: 1: another cell follows, 0: the record ends here. */
static int end_cell(struct csv *c, struct err *e)
{
	char *at = c->at;

	if (at < c->end && *at == ',') {
		c->at++;
		return 1;
	}
	if (c->end - at > 1 && at[0] == '\r' && at[1] == '\n')
		c->at++;
	if (c->at == c->end)
		return fail(c, "cut short: it has no end", e);
	if (*c->at != '\n')
		return fail(c, "something stands behind the quotes of a cell", e);
	c->at++;
	c->lines++;
	return 0;
}

/* Behind the first quote. Doubled quotes become one, so the cell may be shorter than its text. */
static int read_quoted(struct csv *c, struct csv_cell *ret, struct err *e)
{
	char *start = c->at, *to = start;

	for (;;) {
		if (c->at == c->end)
			return fail(c, "cut short: a quote has no end", e);
		if (*c->at == '"' && (++c->at == c->end || *c->at != '"'))
			break;
		c->lines += *c->at == '\n';
		*to++ = *c->at++;
	}
	*ret = (struct csv_cell){ start, (size_t)(to - start) };
	return 0;
}

static int read_plain(struct csv *c, struct csv_cell *ret, struct err *e)
{
	size_t len = 0, left = (size_t)(c->end - c->at);

	while (len < left && c->at[len] != ',' && c->at[len] != '\n' && c->at[len] != '"')
		len++;
	if (len < left && c->at[len] == '"')
		return fail(c, "a quote within a cell that has none at its start", e);
	*ret = (struct csv_cell){ c->at, len };
	c->at += len;
	if (len < left && *c->at == '\n' && len && c->at[-1] == '\r') {
		ret->len--;
		c->at--;
	}
	return 0;
}

int csv_next(struct csv *c, struct err *e)
{
	int more = 1;

	c->count = 0;
	c->line = c->lines + 1;
	if (c->at == c->end)
		return 0;
	while (more > 0) {
		struct csv_cell *cell = &c->cells[c->count];
		int rc;

		if (c->count == CSV_MAX_CELLS)
			return fail(c, "too many cells", e);
		if (c->at < c->end && *c->at == '"') {
			c->at++;
			rc = read_quoted(c, cell, e);
		} else {
			rc = read_plain(c, cell, e);
		}
		if (rc == 0)
			more = rc = end_cell(c, e);
		if (rc < 0)
			return rc;
		cell->text[cell->len] = '\0';
		c->count++;
	}
	return 1;
}
