/* SPDX-License-Identifier: MIT */
/*
 * map: a hash map from 64-bit keys to 32-bit values, open addressing. All zero is a valid empty
 * map.
 *
 * map_pair() makes a key of two ids. Every key is allowed.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define MAP_NONE UINT32_MAX /* the value of a key that is not there */

struct map_slot {
	uint64_t key;
	uint32_t value;
	uint32_t used; /* 0: free */
};

struct map {
	struct map_slot *slots; /* [cap]; owned */
	size_t count;           /* keys */
	size_t cap;             /* 0 or a power of two */
};

void map_fini(struct map *m);
void map_clear(struct map *m); /* keeps the memory */

uint32_t map_get(const struct map *m, uint64_t key); /* MAP_NONE: not there */

/* Where the value of key is; a new key starts with MAP_NONE. Valid until the next
 * map_put or map_at. NULL: out of memory. */
uint32_t *map_at(struct map *m, uint64_t key);

int map_put(struct map *m, uint64_t key, uint32_t value) MUST_CHECK; /* 0 or -ENOMEM */

static inline uint64_t map_pair(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

#endif
