/* SPDX-License-Identifier: MIT */
#include "native/sizes.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* 47 bits of user addresses (Documentation/arch/x86/x86_64/mm.rst; arm64 with 48 bits has two). */
#define TOP_BITS 14    /* of 48: 16,384 regions of 16 GiB */
#define REGION_BITS 14 /* 16,384 leaves of 1 MiB in each */
#define LEAF_BITS 16   /* 65,536 places of 16 bytes in each */
#define PLACE_BITS 4

#define PLACES (1u << LEAF_BITS)
#define LARGE UINT16_MAX /* the size stands in the places that follow, inside the block */
#define LARGE_PLACES 3   /* 48 bits */

/*
 * A size is stored plus one, 0: no block begins here. The tail is for a large block at the end.
 * Of whole pages (where they have 4 KiB), so that clearing gives the pages back.
 */
struct leaf {
	uint16_t places[PLACES + LARGE_PLACES];
} __attribute__((aligned(4096)));

struct region {
	_Atomic(struct leaf *) leaves[1u << REGION_BITS];
};

static _Atomic(struct region *) top[1u << TOP_BITS];

static void *map_zeroed(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static inline size_t bits_of(uintptr_t address, unsigned shift, unsigned bits)
{
	return (size_t)(address >> shift) & ((1u << bits) - 1);
}

#define LEAF_SHIFT (LEAF_BITS + PLACE_BITS)
#define REGION_SHIFT (REGION_BITS + LEAF_SHIFT)

/* Who loses against another thread takes the other's. No lock: a fork() may come at any time. */
static struct region *region_make(_Atomic(struct region *) *slot)
{
	struct region *made = map_zeroed(sizeof *made);
	struct region *found = NULL;

	if (!made || atomic_compare_exchange_strong(slot, &found, made))
		return made;
	munmap(made, sizeof *made);
	return found;
}

static struct leaf *leaf_make(_Atomic(struct leaf *) *slot)
{
	struct leaf *made = map_zeroed(sizeof *made);
	struct leaf *found = NULL;

	if (!made || atomic_compare_exchange_strong(slot, &found, made))
		return made;
	munmap(made, sizeof *made);
	return found;
}

/* Slow: the leaf of an address whose leaf is not there yet. NULL: out of memory, or not of ours. */
__attribute__((noinline)) static struct leaf *leaf_add(uintptr_t address)
{
	_Atomic(struct region *) *slot = &top[bits_of(address, REGION_SHIFT, TOP_BITS)];
	struct region *region;

	if (address >> (REGION_SHIFT + TOP_BITS))
		return NULL;
	region = atomic_load_explicit(slot, memory_order_acquire);
	if (!region)
		region = region_make(slot);
	return region ? leaf_make(&region->leaves[bits_of(address, LEAF_SHIFT, REGION_BITS)])
		      : NULL;
}

static inline struct leaf *leaf_get(uintptr_t address)
{
	struct region *region;

	if (__builtin_expect((address >> (REGION_SHIFT + TOP_BITS)) != 0, 0))
		return NULL;
	region = atomic_load_explicit(&top[bits_of(address, REGION_SHIFT, TOP_BITS)],
				      memory_order_acquire);
	if (__builtin_expect(!region, 0))
		return NULL;
	return atomic_load_explicit(&region->leaves[bits_of(address, LEAF_SHIFT, REGION_BITS)],
				    memory_order_acquire);
}

static inline long long size_at(const uint16_t *place)
{
	uint64_t size = 0;

	if (__builtin_expect(*place != LARGE, 1))
		return *place - 1;
	memcpy(&size, place + 1, LARGE_PLACES * sizeof *place);
	return (long long)size;
}

static inline void forget(uint16_t *place)
{
	if (__builtin_expect(*place == LARGE, 0))
		memset(place + 1, 0, LARGE_PLACES * sizeof *place);
	*place = 0;
}

long long sizes_put(const void *block, size_t size)
{
	uintptr_t address = (uintptr_t)block;
	struct leaf *leaf = leaf_get(address);
	uint16_t *place;
	long long before = 0;

	if (__builtin_expect(!leaf, 0)) {
		leaf = leaf_add(address);
		if (!leaf)
			return -1;
	}
	place = &leaf->places[bits_of(address, PLACE_BITS, LEAF_BITS)];
	if (__builtin_expect(*place != 0, 0)) {
		before = size_at(place);
		forget(place);
	}
	if (__builtin_expect(size < LARGE - 1, 1)) {
		*place = (uint16_t)(size + 1);
	} else {
		uint64_t wide = size;

		*place = LARGE;
		memcpy(place + 1, &wide, LARGE_PLACES * sizeof *place);
	}
	return before;
}

long long sizes_take(const void *block)
{
	uintptr_t address = (uintptr_t)block;
	struct leaf *leaf = leaf_get(address);
	uint16_t *place;
	long long size;

	if (__builtin_expect(!leaf, 0))
		return -1;
	place = &leaf->places[bits_of(address, PLACE_BITS, LEAF_BITS)];
	if (!*place)
		return -1;
	size = size_at(place);
	forget(place);
	return size;
}

void sizes_clear(void)
{
	for (size_t r = 0; r < sizeof top / sizeof *top; r++) {
		struct region *region = atomic_load(&top[r]);

		for (size_t l = 0; region && l < 1u << REGION_BITS; l++) {
			struct leaf *leaf = atomic_load(&region->leaves[l]);

			if (leaf && madvise(leaf, sizeof *leaf, MADV_DONTNEED) < 0)
				memset(leaf, 0, sizeof *leaf);
		}
	}
}
