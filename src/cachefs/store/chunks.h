/* SPDX-License-Identifier: MIT */
/*
 * chunks: the cached data of files, in pieces of CHUNK_BYTES.
 *
 * A chunk takes memory for the pages that have data: pages of zeros are given back, and a hole
 * takes none. Usage counts what it takes.
 *
 * A chunk holds a reference on its node, and is in one of S3-FIFO's two queues: main for those that
 * were used again, and for the first ones, up to three quarters of the limit; small for others.
 * While small has more than an eighth of all bytes, its oldest chunk is evicted, or moves to main
 * if it was used again; else main evicts the first chunk that was not used since the last round. So
 * what is cached first stays while more than the limit is read once, and one large sequential read
 * evicts no data that others reuse. A chunk with readers is never evicted.
 *
 * Source: Yang and others, FIFO queues are all you need for cache eviction, SOSP 2023.
 */
#ifndef CACHEFS_STORE_CHUNKS_H
#define CACHEFS_STORE_CHUNKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachefs/memory/slabs.h"
#include "cachefs/store/node.h"

#define CHUNK_BYTES (UINT64_C(1) << 20)
#define CHUNK_EXTRA (256 + 4096) /* the most that a chunk takes besides its data: 4 KiB pages */

struct inflight;
struct backing;

struct chunk {
	struct chunk *before, *after; /* in its queue; under the queues' lock */
	struct node *node;            /* holds a reference */
	struct chunks *chunks;
	uint64_t index; /* of the chunk in its file */
	char *bytes;    /* [len] of [cap]; written by the request only, which may replace it */
	size_t len, cap;
	size_t data_bytes;         /* of memory that it takes; under the queues' lock */
	struct slab_piece piece;   /* its memory; none: it is of the backing file, or all zeros */
	struct backing *backing;   /* has bytes; holds a reference; NULL: bytes are the chunk's */
	struct inflight *inflight; /* fills it; NULL: it is filled. Under the node's lock */
	_Atomic unsigned readers;
	_Atomic bool used; /* since the hand of its queue passed; in small: AGAIN chunks later */
	bool in_main;      /* under the queues' lock */
	uint32_t born;     /* how many chunks were made before it */
};

struct chunks;

/* limit: of usage in bytes, chunks included. NULL: out of memory. */
struct chunks *chunks_new(struct nodes *nodes, struct usage *usage, uint64_t limit) MUST_CHECK;
void chunks_free(struct chunks *c); /* and all chunks; no reader is left */

/* The next four: under the lock of n. */
struct chunk *chunks_find(const struct node *n, uint64_t index); /* NULL: not cached */
/* Makes this chunk of a file of size bytes, with one reader: the caller. NULL: out of memory, or
 * over the limit. */
struct chunk *chunks_add(struct chunks *c, struct node *n, uint64_t index,
			 uint64_t size) MUST_CHECK;
void chunk_begin_read(struct chunk *chunk);
/* With holes. */
uint64_t chunks_bytes(const struct node *n); /* cached bytes of the file */

void chunk_end_read(struct chunk *chunk); /* needs no lock */

/*
 * The request has read len bytes: its pages of zeros are given back. is_hole: all are zeros, and
 * chunk->bytes were not written. Before chunk->inflight becomes NULL; no lock is held.
 */
void chunk_filled(struct chunk *chunk, size_t len, bool is_hole);

/* Evicts chunks until usage is at most limit bytes, or no chunk can go. No lock is held. */
void chunks_shrink(struct chunks *c, uint64_t limit);

/* Drops a chunk that no request has read yet. Under its node's lock. */
void chunk_invalidate(struct chunk *chunk);

/* Puts each file of CHUNK_BYTES to max_bytes into one backing file, while there are mappings for
 * it. At most a quarter of the process's descriptors are used. Call it before other threads use c.
 */
void chunks_enable_backing(struct chunks *c, uint64_t max_bytes);

/* A completely cached backing file. Its chunks have a reader, so they stay cached. */
struct chunks_pinned {
	struct backing *backing; /* holds a reference */
	struct chunk **list;     /* [count]; owned */
	size_t count;
};
/* Under the lock of n. False: not all data is cached, or not in a backing file, or it has holes:
 * the kernel would fill them with memory that nobody counts. */
bool chunks_pin(const struct node *n, struct chunks_pinned *ret) MUST_CHECK;
void chunks_unpin(struct chunks_pinned *pinned);

/* Drops all chunks of n from lookups; the next shrink frees them. Under the lock of n. */
void chunks_invalidate(struct node *n);

#endif
