/* SPDX-License-Identifier: MIT */
/*
 * sizes: how large each block of an allocator is, told by its address.
 *
 * A shadow of the address space: two bytes for each 16 bytes that a block begins in, in leaves
 * of 1 MiB of addresses that are made when the first block of theirs comes. A put or take is
 * three dependent loads. The memory comes from mmap, never from malloc, so that keeping the
 * sizes changes no heap; it is 1/8 of the addresses used, and is never given back.
 *
 * Any number of threads may call at once, each about blocks that it owns.
 */
#ifndef NATIVE_SIZES_H
#define NATIVE_SIZES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Notes that the block at address (a multiple of 16) has size bytes. Returns the size that was
 * noted there before (bytes; 0: none), or -1: no memory for a leaf, nothing is noted.
 */
long long sizes_put(const void *address, size_t size);

/* Forgets the block. Returns its size, or -1: it was not noted. */
long long sizes_take(const void *address);

/* Forgets all blocks. No other thread may be inside. */
void sizes_clear(void);

#endif
