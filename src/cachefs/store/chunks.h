/* SPDX-License-Identifier: MIT */
/*
 * chunks: the data of files, in pieces of CHUNK_BYTES.
 *
 * A chunk counts on its node, and is in one of two rings: the fresh, and those that proved to be
 * used again. While the fresh have more than an eighth of all bytes, the oldest of them goes, or
 * is kept if it was used again; else one that was kept and not used since the last round. So who
 * reads much, once, drives out only what others read once. What is being handed out is never taken.
 *
 * Source: Yang and others, FIFO queues are all you need for cache eviction, SOSP 2023.
 */
#ifndef CACHEFS_STORE_CHUNKS_H
#define CACHEFS_STORE_CHUNKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachefs/store/node.h"

#define CHUNK_BYTES (UINT64_C(1) << 20)
#define CHUNK_EXTRA 256 /* bytes of memory besides, at most */

struct flight;
struct whole;

struct chunk {
	struct chunk *before, *after; /* in its ring; under the rings' lock */
	struct node *node;            /* counted */
	uint64_t index;               /* of the chunk in its file */
	char *bytes;                  /* [len] of [cap]; owned; written by the flight only */
	size_t len, cap;
	struct whole *whole;   /* that has bytes, counted; NULL: they are the chunk's own */
	struct flight *flight; /* filling it; NULL: filled. Under the node's lock */
	_Atomic unsigned readers;
	_Atomic bool used; /* since the hand of its ring came by; fresh: again, and later */
	bool is_kept;      /* not fresh; under the rings' lock */
	uint32_t born;     /* how many chunks were made before */
	const _Atomic uint32_t *made; /* and until now */
};

struct chunks;

/* limit: of usage in bytes, with the chunks. NULL: out of memory. */
struct chunks *chunks_new(struct nodes *nodes, struct usage *usage, uint64_t limit) MUST_CHECK;
void chunks_free(struct chunks *c); /* with all chunks; no reader is left */

/* These four: under the lock of n. */
struct chunk *chunks_find(const struct node *n, uint64_t index); /* NULL: not there */
/* Room for this chunk of a file of size bytes, with one reader: the caller. NULL: out of memory, or
 * beyond the limit. */
struct chunk *chunks_add(struct chunks *c, struct node *n, uint64_t index,
			 uint64_t size) MUST_CHECK;
void chunks_read(struct chunk *chunk);       /* one more reader */
uint64_t chunks_bytes(const struct node *n); /* that are here of the file */

void chunk_done(struct chunk *chunk); /* one reader less; needs no lock */

/* Takes chunks until usage is at most limit bytes, or nothing can be taken. No lock is held. */
void chunks_shrink(struct chunks *c, uint64_t limit);

/* The chunk, which nobody could read yet, is not found any more. Under its node's lock. */
void chunks_forget_one(struct chunk *chunk);

/* From here on files of CHUNK_BYTES to max_bytes are each in one piece. Before other threads use c.
 */
void chunks_keep_whole(struct chunks *c, uint64_t max_bytes);

/* A file in one piece of which all is there, and which so stays. */
struct chunks_held {
	struct whole *whole; /* counted */
	struct chunk **list; /* [count]; read by us; owned */
	size_t count;
};
/* Under the lock of n, both. False: it is not there, or not in one piece. */
bool chunks_hold(const struct node *n, struct chunks_held *ret) MUST_CHECK;
void chunks_let_go(struct chunks_held *held);

/* The chunks of n are not found any more; the next shrink takes them. Under the lock of n. */
void chunks_forget(struct node *n);

#endif
