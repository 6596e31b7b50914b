/* SPDX-License-Identifier: MIT */
/*
 * sizes: maps the address of an allocator's block to its size.
 *
 * Shadow memory: two bytes for each 16 bytes of address space, in leaves of 1 MiB of addresses that
 * are allocated at their first block. A put or take is three dependent loads. The memory comes from
 * mmap(2), so that the measured heap does not change; it is 1/8 of the addresses in use and is
 * never freed. Threads may call concurrently, each for blocks that it owns.
 */
#ifndef NATIVE_SIZES_H
#define NATIVE_SIZES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Stores the size of the block at address (a multiple of 16). Returns the size stored there before
 * (bytes; 0: none), or -1: no memory for a leaf, nothing is stored.
 */
long long sizes_put(const void *address, size_t size);

/* Removes the block. Returns its size, or -1: unknown. */
long long sizes_take(const void *address);

/* Removes all blocks. No other thread may call at the same time. */
void sizes_clear(void);

#endif
