/* SPDX-License-Identifier: MIT */
#include "perf/stack_rest.h"

#include <stdlib.h>
#include <string.h>

void stack_rest_fini(struct stack_rest *r)
{
	free(r->bytes);
	*r = (struct stack_rest){ 0 };
}

static bool has_room(struct stack_rest *r, size_t cap)
{
	unsigned char *bytes;

	if (cap <= r->cap)
		return true;
	bytes = realloc(r->bytes, cap);
	if (!bytes)
		return false;
	r->bytes = bytes;
	r->cap = cap;
	return true;
}

size_t stack_rest_get(struct stack_rest *r, uint32_t pid, uint64_t sp, struct record_bytes copy,
		      uint64_t from)
{
	uint64_t at = from - sp;
	size_t same, got;

	if (!r->read || r->wasted >= STACK_REST_WASTED || from < sp || at >= copy.len ||
	    !has_room(r, copy.len + STACK_REST_BYTES))
		return 0;
	same = copy.len - (size_t)at;
	if (r->read(pid, from, r->bytes, same) < same || memcmp(r->bytes, copy.bytes + at, same))
		return 0;
	/* Once more with the rest: the thread may have run since. */
	got = r->read(pid, from, r->bytes + at, same + STACK_REST_BYTES);
	if (got <= same || memcmp(r->bytes + at, copy.bytes + at, same))
		return 0;
	memcpy(r->bytes, copy.bytes, (size_t)at);
	return (size_t)at + got;
}

void stack_rest_count(struct stack_rest *r, bool is_complete)
{
	r->wasted = is_complete ? 0 : r->wasted + 1;
}
