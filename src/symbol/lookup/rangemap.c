/* SPDX-License-Identifier: MIT */
#include "symbol/lookup/rangemap.h"

#include <errno.h>
#include <stdlib.h>

/* A kept range: the wanted addresses [first..end) by index. */
struct span {
	uint32_t first, end, value;
};

struct rangemap rangemap_make(const uint64_t *wanted, size_t count)
{
	return (struct rangemap){ .wanted = wanted, .count = count };
}

void rangemap_fini(struct rangemap *c)
{
	buf_fini(&c->spans);
}

size_t rangemap_first(const struct rangemap *c, uint64_t address)
{
	const uint64_t *at = c->wanted;
	size_t left = c->count;

	while (left) {
		size_t half = left / 2;

		if (at[half] < address) {
			at += half + 1;
			left -= half + 1;
		} else {
			left = half;
		}
	}
	return (size_t)(at - c->wanted);
}

bool rangemap_add(struct rangemap *c, uint64_t low, uint64_t high, uint32_t value)
{
	size_t first = rangemap_first(c, low);
	struct span span = { .first = (uint32_t)first, .value = value };

	if (first == c->count || c->wanted[first] >= high)
		return false;
	span.end = (uint32_t)rangemap_first(c, high);
	buf_put(&c->spans, &span, sizeof span);
	return true;
}

/* The first index from i on that has no value yet. next[i] is i or leads there. */
static uint32_t find_free(uint32_t *next, uint32_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

int rangemap_resolve(const struct rangemap *c, uint32_t *ret)
{
	const struct span *spans = (const void *)c->spans.data;
	size_t span_count = c->spans.len / sizeof *spans;
	uint32_t *next;

	if (buf_error(&c->spans) < 0)
		return -ENOMEM;
	next = malloc((c->count + 1) * sizeof *next);
	if (!next)
		return -ENOMEM;
	for (size_t i = 0; i <= c->count; i++)
		next[i] = (uint32_t)i;
	for (size_t i = 0; i < c->count; i++)
		ret[i] = RANGEMAP_NONE;
	/* Backwards, so that each address is taken once, by the last range. */
	while (span_count--) {
		struct span s = spans[span_count];
		uint32_t i = find_free(next, s.first);

		while (i < s.end) {
			ret[i] = s.value;
			next[i] = i + 1;
			i = find_free(next, i + 1);
		}
	}
	free(next);
	return 0;
}
