/* SPDX-License-Identifier: MIT */
/* chunks_internal: the chunks of a cache and of a file, and what chunks.c and chunks_evict.c call
 * of each other. */
#ifndef CACHEFS_STORE_CHUNKS_INTERNAL_H
#define CACHEFS_STORE_CHUNKS_INTERNAL_H

#include <pthread.h>

#include "cachefs/store/chunks.h"

#define GHOSTS 8192

/* The chunks of one file: a table that grows, open addressing by index. */
struct content {
	struct chunk **slots;    /* [cap]; NULL: free */
	uint32_t count, cap;     /* cap: a power of two */
	struct backing *backing; /* has their bytes; NULL: each has its own memory */
	struct chunk *first[2];  /* the slots of a small file */
};

/* What a chunk takes beside its data, with malloc's own bytes: of the table, a small file has this,
 * a large one two to four slots a chunk. */
#define MALLOC_EXTRA sizeof(size_t)
#define BOOKKEEPING (sizeof(struct chunk) + MALLOC_EXTRA + sizeof(struct content) + MALLOC_EXTRA)

struct queue {
	struct chunk *hand; /* the oldest; NULL: no chunk */
	size_t count;
	uint64_t bytes;
};

/* A chunk that was evicted from the small queue. If it is read again soon, it goes to main. */
struct ghost {
	uint32_t key;  /* of its file and index */
	uint32_t made; /* the value of chunks.made at its eviction */
};

struct chunks {
	pthread_mutex_t lock;
	struct queue small, main;    /* under lock */
	struct ghost ghosts[GHOSTS]; /* [key % GHOSTS]; under lock */
	_Atomic uint32_t made;       /* chunks */
	struct nodes *nodes;
	struct usage *usage;
	struct slabs *slabs;
	char *zeros;          /* [CHUNK_BYTES]; never written: takes no memory */
	uint64_t limit;       /* of usage */
	uint64_t max_backing; /* bytes of a backing file; written before start */
	struct backings *backings;
};

/* Bytes that usage counts for a chunk. */
static inline size_t chunk_usage(const struct chunk *chunk)
{
	return BOOKKEEPING + chunk->data_bytes;
}

/* Under the node's lock, both. False: its file has no such chunk any more. */
bool chunk_remove(struct chunk *chunk);
/* Also frees its part of the backing file, before a new chunk uses that part. */
void chunk_remove_and_punch(struct chunk *chunk);
void chunk_free(struct chunk *chunk);

/* Puts a new chunk into a queue. Under the node's lock. */
void chunks_enqueue(struct chunks *c, struct chunk *chunk);
/* A chunk takes these bytes less than before. */
void chunks_reduce(struct chunks *c, struct chunk *chunk, size_t bytes);
/* Frees all chunks. No other thread uses c. */
void chunks_free_all(struct chunks *c);

#endif
