/* SPDX-License-Identifier: MIT */
/*
 * heap_count: how libauger-count.so shows its counters to others in the same process.
 *
 * Bytes are what malloc_usable_size() says, both when a block is made and when it is freed. Each
 * thread counts by itself; what it did is added to the process' numbers by flush(), which also
 * runs when 64 KiB have changed. So the process' numbers are exact where one thread allocates,
 * and at most 64 KiB off for each other thread that runs.
 */
#ifndef WIRE_HEAP_COUNT_H
#define WIRE_HEAP_COUNT_H

#include <assert.h>
#include <stdint.h>

#include "wire/peaks.h"

#define HEAP_COUNT_VERSION 1
#define HEAP_COUNT_FLUSH INT64_C(65536)

/* Written by its thread alone. */
struct heap_thread {
	int64_t live;        /* bytes this thread made minus those it freed; may be negative */
	int64_t peak;        /* the most of live since the last flush */
	int64_t low, high;   /* live outside of [low..high] must be flushed */
	int64_t flushed;     /* live at the last flush */
	uint64_t allocs;     /* blocks made; a realloc makes one and frees one */
	uint64_t frees;      /* blocks freed */
	uint64_t bytes_made; /* of all blocks made */
};

struct heap_process {
	int64_t live;       /* bytes, atomic */
	struct peaks peaks; /* of live; its lock guards both */
};

struct heap_count {
	uint32_t version; /* HEAP_COUNT_VERSION */
	uint32_t thread_size;
	struct heap_process *process;
	struct heap_thread *(*thread)(void); /* of the caller; valid while it runs */
	void (*flush)(struct heap_thread *thread);
};

static_assert(sizeof(struct heap_thread) == 64, "one cache line");

/* The name to look up by dlsym(): const struct heap_count *auger_heap_count(void). */
#define HEAP_COUNT_SYMBOL "auger_heap_count"

#endif
