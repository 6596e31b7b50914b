/* SPDX-License-Identifier: MIT */
/*
 * cover: in which of many ranges each of the wanted addresses lies.
 *
 * Ranges come in any order and any number; where several hold an address, the one that was
 * added last wins. Only ranges that hold a wanted address are kept, and each costs
 * O(log wanted), however many it holds: hostile input cannot make it slow.
 */
#ifndef SYMBOL_COVER_H
#define SYMBOL_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"

#define COVER_NONE UINT32_MAX

struct cover {
	const uint64_t *wanted; /* [count]: ascending, no two equal; borrowed */
	size_t count;           /* below COVER_NONE */
	struct buf spans;       /* struct span of cover.c */
};

struct cover cover_make(const uint64_t *wanted, size_t count);
void cover_fini(struct cover *c);

/* The index of the first wanted address that is at or behind this one; count: none. */
size_t cover_first(const struct cover *c, uint64_t address);

/* [low..high). true: it holds a wanted address, and is kept. value: not COVER_NONE. */
bool cover_add(struct cover *c, uint64_t low, uint64_t high, uint32_t value);

/* ret: [count], the value of the last range of each wanted address, or COVER_NONE.
 * 0 or -ENOMEM, also for ranges that could not be kept. */
int cover_resolve(const struct cover *c, uint32_t *ret) MUST_CHECK;

#endif
