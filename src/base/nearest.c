/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LEN_MAX 48    /* letters of the wanted name that are compared */
#define SHOWN_MAX 60  /* letters of a name that are shown */
#define EDIT_SCORE 32 /* an edit weighs more than any difference of lengths */

struct nearest nearest_start(const char *wanted, size_t len)
{
	return (struct nearest){ .wanted = wanted, .len = len };
}

static bool is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The fewest edits that make a part of name of the wanted letters. One row of the usual table for
 * each letter of name; a part may begin and end anywhere, so the first column stays 0 and the least
 * of the last column counts (Sellers 1980; swaps: Damerau 1964).
 */
static size_t edits(const char *wanted, size_t len, const char *name)
{
	size_t rows[3][LEN_MAX + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2], best = len;

	for (size_t i = 0; i <= len; i++)
		above[i] = before[i] = i;
	for (size_t at = 0; name[at]; at++) {
		size_t *oldest = before;

		row[0] = 0;
		for (size_t i = 1; i <= len; i++) {
			size_t changed = above[i - 1] + !is_same(wanted[i - 1], name[at]);

			row[i] = least(changed, least(above[i], row[i - 1]) + 1);
			if (i > 1 && at && is_same(wanted[i - 1], name[at - 1]) &&
			    is_same(wanted[i - 2], name[at]))
				row[i] = least(row[i], before[i - 2] + 1);
		}
		best = least(best, row[len]);
		before = above;
		above = row;
		row = oldest;
	}
	return best;
}

void nearest_add(struct nearest *n, const char *name)
{
	size_t len = least(n->len, LEN_MAX), name_len = strlen(name), at, score;
	size_t difference = n->len > name_len ? n->len - name_len : name_len - n->len;
	size_t count = edits(n->wanted, len, name);

	if (!len || !name_len || count > len / 3)
		return;
	score = count * EDIT_SCORE + least(difference, EDIT_SCORE - 1);
	for (at = n->count; at && n->best[at - 1].score > score; at--)
		;
	if (at == NEAREST_MAX)
		return;
	n->count = least(n->count + 1, NEAREST_MAX);
	memmove(&n->best[at + 1], &n->best[at], (n->count - at - 1) * sizeof n->best[0]);
	n->best[at].name = name;
	n->best[at].score = score;
}

void nearest_add_list(struct nearest *n, const char *const *names)
{
	for (; *names; names++)
		nearest_add(n, *names);
}

const char *nearest_text(struct nearest *n, const char *dashes)
{
	size_t len = 0;

	n->text[0] = '\0';
	while (n->count && n->best[n->count - 1].score / EDIT_SCORE > n->best[0].score / EDIT_SCORE)
		n->count--;
	for (size_t i = 0; i < n->count; i++) {
		const char *between = !i ? "; did you mean " : i + 1 < n->count ? ", " : " or ";
		bool is_long = strlen(n->best[i].name) > SHOWN_MAX;

		len += (size_t)snprintf(n->text + len, sizeof n->text - len, "%s'%s%.*s%s'%s",
					between, dashes, SHOWN_MAX, n->best[i].name,
					is_long ? ".." : "", i + 1 < n->count ? "" : "?");
		assert(len < sizeof n->text);
	}
	return n->text;
}
