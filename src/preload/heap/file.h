/* SPDX-License-Identifier: MIT */
/*
 * file: the shared file of this process (wire/heap.h): its header, and items of each kind by
 * number.
 *
 * The file grows by fallocate() before memory of it is touched, so that a full disk is an error
 * here and no SIGBUS. After a fork() the child has nothing of the parent's file: file_open() makes
 * its own.
 */
#ifndef PRELOAD_HEAP_FILE_H
#define PRELOAD_HEAP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/heap.h"

/* Written by file_open() alone. */
struct heap_file {
	struct heap_head *head;                             /* NULL: none is open */
	unsigned char *chunks[HEAP_KINDS][HEAP_CHUNKS_MAX]; /* of a kind, in order */
	uint32_t counts[HEAP_KINDS];                        /* chunks of it; under lock */
	uint32_t site_base; /* number of the first site of this file: older ones are a parent's */
	uint32_t lock;
};

extern struct heap_file heap_file;

/* Makes a file in the folder dir, an absolute path. limit: bytes of it at most; 0: no limit.
 * false: it cannot be made; errno is not kept. */
bool file_open(const char *dir, uint64_t limit);

/* The same without a name: in dir, unless it is "" or there can be no file; else in /tmp or
 * /var/tmp, if it is no memory; else in memory. */
bool file_open_unnamed(const char *dir, uint64_t limit);

/* For a child: forgets the parent's file, without touching it. Sites of the next one are numbered
 * from site_base on. */
void file_forget(uint32_t site_base);

/* Unmaps it, where no thread uses it any more. */
void file_close(void);

/* Space for item index of a kind, which has per items a chunk; under lock. NULL: no space, and the
 * header notes it. */
void *file_reserve(enum heap_kind kind, uint32_t index, size_t per, size_t size);

/* Adds a string, under lock. HEAP_NO_STRING: no space. */
uint32_t file_put_string(const char *text);

static inline struct heap_header *file_header(void)
{
	return &heap_file.head->header;
}

static inline struct heap_node *file_node(uint32_t index)
{
	return (struct heap_node *)(void *)
		       heap_file.chunks[HEAP_NODES][index / HEAP_NODES_A_CHUNK] +
	       index % HEAP_NODES_A_CHUNK;
}

/* site: of this file, at least heap_file.site_base. */
static inline struct heap_site *file_site(uint32_t site)
{
	uint32_t index = site - heap_file.site_base;

	return (struct heap_site *)(void *)
		       heap_file.chunks[HEAP_SITES][index / HEAP_SITES_A_CHUNK] +
	       index % HEAP_SITES_A_CHUNK;
}

static inline void file_count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

#endif
