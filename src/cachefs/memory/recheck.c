/* SPDX-License-Identifier: MIT */
#include "cachefs/memory/recheck.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cachefs/memory/server_clocks.h"

#define BLOCK 4096
#define PARTS_MAX 65536 /* of a file; further ones are not checked */
#define SEARCHED 64     /* the last parts, among which the same one is found */

struct recheck {
	struct recheck_part *parts; /* [count] of [cap]; owned */
	size_t count, cap;
};

uint64_t recheck_hash(const char *bytes, size_t len)
{
	static const char zeros[BLOCK];
	uint64_t hash = hash_number(len);

	for (size_t at = 0; at < len; at += BLOCK) {
		size_t size = len - at < BLOCK ? len - at : BLOCK;

		hash = hash_number(hash ^ hash_bytes(bytes ? bytes + at : zeros, size));
	}
	return hash;
}

bool recheck_is_early(const struct stat *attr, int64_t read_ns)
{
	return server_ctime(attr) + RECHECK_NS > read_ns;
}

int recheck_add(struct recheck **to, uint64_t offset, size_t len, uint64_t hash, int64_t ready_ns)
{
	struct recheck *r = *to;

	if (!r)
		r = *to = calloc(1, sizeof *r);
	if (!r)
		return -ENOMEM;
	for (size_t i = r->count; i > 0 && i + SEARCHED > r->count; i--)
		if (r->parts[i - 1].offset == offset && r->parts[i - 1].len == len &&
		    r->parts[i - 1].hash == hash)
			return 0;
	if (r->count == PARTS_MAX)
		return 0;
	if (r->count == r->cap) {
		size_t cap = r->cap ? 2 * r->cap : 4;
		struct recheck_part *parts = realloc(r->parts, cap * sizeof *parts);

		if (!parts)
			return -ENOMEM;
		r->parts = parts;
		r->cap = cap;
	}
	r->parts[r->count++] = (struct recheck_part){
		.offset = offset, .len = len, .hash = hash, .ready_ns = ready_ns
	};
	return 0;
}

void recheck_clear(struct recheck **at)
{
	if (*at)
		free((*at)->parts);
	free(*at);
	*at = NULL;
}

struct recheck_part *recheck_next(const struct recheck *r, int64_t now_ns, size_t *i)
{
	while (r && *i < r->count) {
		struct recheck_part *part = &r->parts[(*i)++];

		if (part->ready_ns <= now_ns)
			return part;
	}
	return NULL;
}

struct recheck_part *recheck_of(const struct recheck *r, const void *reader)
{
	for (size_t i = 0; r && i < r->count; i++)
		if (r->parts[i].reader == reader)
			return &r->parts[i];
	return NULL;
}

void recheck_remove(struct recheck **at, struct recheck_part *part)
{
	struct recheck *r = *at;

	*part = r->parts[--r->count];
	if (!r->count)
		recheck_clear(at);
}
