/* SPDX-License-Identifier: MIT */
/*
 * shard: allocates what a thread's shard holds: rows, frames and its cache of paths.
 *
 * The calling thread owns the shard. Each function takes the profiler's lock only when it needs
 * memory or a path that the shard has not cached; the memory lives as long as the profiler.
 */
#ifndef STAGE_SHARD_H
#define STAGE_SHARD_H

#include "stage/profiler.h"

/* The row of a path in a thread's shard. NULL: out of memory. */
struct row *shard_row(struct shard *s, uint32_t path);

/* The path of a name in a path; creates it when it is new. 0: out of memory. */
uint32_t shard_child_slowly(struct shard *s, struct child *known, uint32_t parent, uint32_t name);

static inline uint64_t child_key(uint32_t parent, uint32_t name)
{
	return (uint64_t)parent << 32 | name;
}

static inline uint32_t shard_child(struct shard *s, uint32_t parent, uint32_t name)
{
	struct child *known = &s->children[(parent * 31 + name) % CHILDREN_LEN];

	if (LIKELY(known->key == child_key(parent, name)))
		return known->path;
	return shard_child_slowly(s, known, parent, name);
}

/* Refills the list of spare frames. Returns its first frame; NULL: out of memory. */
struct frame *shard_frame(struct shard *s);

#endif
