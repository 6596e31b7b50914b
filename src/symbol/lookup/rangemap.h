/* SPDX-License-Identifier: MIT */
/*
 * rangemap: finds for each wanted address the range that holds it.
 *
 * Ranges come in any order and number; of several that hold an address, the one added last wins.
 * Only ranges with a wanted address are kept, and each costs O(log wanted) however many it holds,
 * so hostile input cannot slow it down.
 */
#ifndef SYMBOL_LOOKUP_RANGEMAP_H
#define SYMBOL_LOOKUP_RANGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"

#define RANGEMAP_NONE UINT32_MAX

struct rangemap {
	const uint64_t *wanted; /* [count]: ascending, no two equal; borrowed */
	size_t count;           /* below RANGEMAP_NONE */
	struct buf spans;       /* struct span of rangemap.c */
};

struct rangemap rangemap_make(const uint64_t *wanted, size_t count);
void rangemap_fini(struct rangemap *c);

/* The index of the first wanted address >= address; count: none. */
size_t rangemap_first(const struct rangemap *c, uint64_t address);

/* [low..high). true: it holds a wanted address, and is kept. value: not RANGEMAP_NONE. */
bool rangemap_add(struct rangemap *c, uint64_t low, uint64_t high, uint32_t value);

/* ret: [count], the value of the last range of each wanted address, or RANGEMAP_NONE.
 * 0 or -ENOMEM, also for ranges that could not be kept. */
int rangemap_resolve(const struct rangemap *c, uint32_t *ret) MUST_CHECK;

#endif
