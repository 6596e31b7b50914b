/* SPDX-License-Identifier: MIT */
/*
 * slabs: memory for the data of files, in pieces of 1 byte to BLOCK_MAX. Any thread may call it.
 *
 * A piece of more than SLAB_LARGE bytes is a block of its own. Smaller ones share a block, a slab,
 * with others of their size class; a class is at most a sixteenth, or 128 bytes, larger than its
 * pieces. Nothing is ever moved. Instead a page goes back to the system with the last piece that it
 * has a part of. So a large piece takes its pages, and a small one at most two pages more than its
 * class, when all pieces around it are gone.
 */
#ifndef CACHEFS_MEMORY_SLABS_H
#define CACHEFS_MEMORY_SLABS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define SLAB_LARGE (32 * 1024)

struct slabs;

struct slab_piece {
	char *bytes; /* NULL: no piece */
	void *owner; /* a block, or a slab; for slabs_give */
};

/* limit: of all pieces together, in bytes; mappings are at least a sixteenth of it, or 32 MiB.
 * NULL: out of memory. */
struct slabs *slabs_new(uint64_t limit) MUST_CHECK;
void slabs_free(struct slabs *s); /* all pieces were given back; NULL is allowed */

/* The memory that a piece of len bytes takes. */
size_t slabs_round(const struct slabs *s, size_t len);
size_t slabs_page_bytes(const struct slabs *s);

/* len: 1 to BLOCK_MAX. The piece of more than SLAB_LARGE bytes reads as zeros, and begins a page.
 * False: out of memory. */
bool slabs_take(struct slabs *s, size_t len, struct slab_piece *ret) MUST_CHECK;
/* len: as in slabs_take. */
void slabs_give(struct slabs *s, struct slab_piece piece, size_t len);

#endif
