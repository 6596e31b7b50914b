/* SPDX-License-Identifier: MIT */
#include "symbol/lookup/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/lookup/rangemap.h"

#define NAME_COMPARED 4096 /* bytes of a name that decide: hostile names overlap, and are long */

int symbols_init(struct symbols *s, const uint64_t *wanted, size_t count)
{
	*s = (struct symbols){ .wanted = wanted, .count = count };
	s->nearest = calloc(count + 1, sizeof *s->nearest);
	return s->nearest ? 0 : -ENOMEM;
}

void symbols_fini(struct symbols *s)
{
	free(s->nearest);
	buf_fini(&s->sized);
	*s = (struct symbols){ 0 };
}

static size_t count_lines(const char *name)
{
	size_t n = 0;

	while (n < NAME_COMPARED && name[n] == '_')
		n++;
	return n;
}

static int compare_names(const char *a, const char *b)
{
	size_t a_lines = count_lines(a), b_lines = count_lines(b);
	size_t a_len = strnlen(a, NAME_COMPARED), b_len = strnlen(b, NAME_COMPARED);

	if (a_lines != b_lines)
		return a_lines < b_lines ? -1 : 1;
	if (a_len != b_len)
		return a_len < b_len ? -1 : 1;
	return strncmp(a, b, NAME_COMPARED);
}

/* Of two that start at the same address: is a the better one (negative)? */
static int compare_alias(const struct symbol *a, const struct symbol *b)
{
	if (!a->name || !b->name)
		return (b->name != NULL) - (a->name != NULL);
	if (a->is_sized != b->is_sized)
		return a->is_sized ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return compare_names(a->name, b->name);
}

void symbols_offer(struct symbols *s, const struct symbol *symbol)
{
	struct rangemap all = rangemap_make(s->wanted, s->count);
	size_t first = rangemap_first(&all, symbol->start);
	struct symbol *nearest = &s->nearest[first];

	if (first == s->count)
		return;
	if (!nearest->end || symbol->start > nearest->start ||
	    (symbol->start == nearest->start && compare_alias(symbol, nearest) < 0))
		*nearest = *symbol;
	if (symbol->is_sized && symbol->name && s->wanted[first] < symbol->end)
		buf_put(&s->sized, symbol, sizeof *symbol);
}

/* In the order of painting: what comes later lies above. */
static int by_start(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return -compare_alias(a, b);
}

static int resolve_sized(struct symbols *s, uint32_t *which, struct symbol *ret)
{
	struct symbol *sized = (void *)s->sized.data;
	size_t count = s->sized.len / sizeof *sized;
	struct rangemap c = rangemap_make(s->wanted, s->count);
	int rc;

	if (count)
		qsort(sized, count, sizeof *sized, by_start);
	for (size_t i = 0; i < count; i++)
		rangemap_add(&c, sized[i].start, sized[i].end, (uint32_t)i);
	rc = rangemap_resolve(&c, which);
	rangemap_fini(&c);
	memset(ret, 0, s->count * sizeof *ret);
	for (size_t i = 0; rc == 0 && i < s->count; i++)
		if (which[i] != RANGEMAP_NONE)
			ret[i] = sized[which[i]];
	return rc;
}

int symbols_resolve(struct symbols *s, struct symbol *ret)
{
	uint32_t *which = malloc((s->count + 1) * sizeof *which);
	const struct symbol *last = NULL;
	int rc = which && buf_error(&s->sized) == 0 ? resolve_sized(s, which, ret) : -ENOMEM;

	free(which);
	for (size_t i = 0; rc == 0 && i < s->count; i++) {
		if (s->nearest[i].end)
			last = &s->nearest[i];
		if (!ret[i].name && last && !last->is_sized && s->wanted[i] < last->end)
			ret[i] = *last;
	}
	return rc;
}
