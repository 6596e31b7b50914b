/* SPDX-License-Identifier: MIT */
/* usage: the memory that each table of the cache takes, counted as it is allocated and freed. */
#ifndef CACHEFS_STORE_USAGE_H
#define CACHEFS_STORE_USAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum usage_table {
	USAGE_DATA,
	USAGE_TREE,
	USAGE_METADATA,
	USAGE_TABLES,
};

struct usage {
	_Atomic uint64_t bytes[USAGE_TABLES];
	_Atomic uint64_t entries[USAGE_TABLES]; /* chunks, listings, nodes */
};

static inline void usage_add(struct usage *u, enum usage_table table, size_t bytes)
{
	atomic_fetch_add_explicit(&u->bytes[table], bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&u->entries[table], 1, memory_order_relaxed);
}

static inline void usage_remove(struct usage *u, enum usage_table table, size_t bytes)
{
	atomic_fetch_sub_explicit(&u->bytes[table], bytes, memory_order_relaxed);
	atomic_fetch_sub_explicit(&u->entries[table], 1, memory_order_relaxed);
}

/* An entry takes these bytes less than before. */
static inline void usage_reduce(struct usage *u, enum usage_table table, size_t bytes)
{
	atomic_fetch_sub_explicit(&u->bytes[table], bytes, memory_order_relaxed);
}

static inline uint64_t usage_total(struct usage *u)
{
	uint64_t total = 0;

	for (int i = 0; i < USAGE_TABLES; i++)
		total += atomic_load_explicit(&u->bytes[i], memory_order_relaxed);
	return total;
}

/* False: the total would exceed limit bytes, and nothing was added. */
static inline bool usage_try_add(struct usage *u, enum usage_table table, size_t bytes,
				 uint64_t limit)
{
	uint64_t before = atomic_load(&u->bytes[table]), others = 0;

	for (int i = 0; i < USAGE_TABLES; i++)
		others += i == (int)table ? 0 : atomic_load(&u->bytes[i]);
	do
		if (others + before + bytes > limit)
			return false;
	while (!atomic_compare_exchange_weak(&u->bytes[table], &before, before + bytes));
	atomic_fetch_add_explicit(&u->entries[table], 1, memory_order_relaxed);
	return true;
}

#endif
