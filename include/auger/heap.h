/* SPDX-License-Identifier: MIT */
/*
 * heap: reports the blocks of a program's own allocator to `auger heap`.
 *
 *	void *pool_take(struct pool *pool, size_t size)
 *	{
 *		void *block = find_room(pool, size);
 *
 *		AUGER_HEAP_ALLOCATED(block, size);
 *		return block;
 *	}
 *
 * For memory that is not from malloc(3), which is recorded by itself: of mmap(2), shared memory or
 * a static array. Blocks begin at multiples of 8. Without `auger heap` a report is a comparison,
 * and nothing has to be linked. In a program that is linked statically reports do nothing.
 *
 * All of these may be called by any thread. NULL for a block reports nothing.
 */
#ifndef AUGER_HEAP_H
#define AUGER_HEAP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* block of size bytes is the caller's from now on. */
__attribute__((weak)) void auger_heap_allocated(void *block, size_t size);

/* Before block is given to anyone else. */
__attribute__((weak)) void auger_heap_freed(void *block);

/* old has become block, which may be at the same address, of size bytes. */
__attribute__((weak)) void auger_heap_reallocated(void *old, void *block, size_t size);

#ifdef __cplusplus
}
#endif

#define AUGER_HEAP_ALLOCATED(block, size)                      \
	do {                                                   \
		if (auger_heap_allocated)                      \
			auger_heap_allocated((block), (size)); \
	} while (0)

#define AUGER_HEAP_FREED(block)                  \
	do {                                     \
		if (auger_heap_freed)            \
			auger_heap_freed(block); \
	} while (0)

#define AUGER_HEAP_REALLOCATED(old, block, size)                        \
	do {                                                            \
		if (auger_heap_reallocated)                             \
			auger_heap_reallocated((old), (block), (size)); \
	} while (0)

#endif
