/* SPDX-License-Identifier: MIT */
/*
 * heap_count: the interface of libauger-count.so to the stage library in the same process.
 *
 * Bytes are malloc_usable_size(), at allocation and at free. Each thread counts by itself; flush()
 * adds its counts to those of the process, and also runs after every 64 KiB of change. So the
 * counts of the process are exact while one thread allocates, and at most 64 KiB off for each other
 * thread.
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
	int64_t live;        /* bytes allocated minus bytes freed by this thread; may be negative */
	int64_t peak;        /* maximum of live since the last flush */
	int64_t low, high;   /* flush when live leaves [low..high] */
	int64_t flushed;     /* live at the last flush */
	uint64_t allocs;     /* blocks allocated; a realloc allocates one and frees one */
	uint64_t frees;      /* blocks freed */
	uint64_t bytes_made; /* of all allocated blocks */
};

struct heap_process {
	int64_t live;       /* bytes, atomic */
	struct peaks peaks; /* of live; its lock guards both */
};

struct heap_count {
	uint32_t version; /* HEAP_COUNT_VERSION */
	uint32_t thread_size;
	struct heap_process *process;
	struct heap_thread *(*thread)(void); /* of the calling thread; valid while it runs */
	void (*flush)(struct heap_thread *thread);
};

static_assert(sizeof(struct heap_thread) == 64, "one cache line");

/* The symbol to look up by dlsym(3): const struct heap_count *auger_heap_count(void). */
#define HEAP_COUNT_SYMBOL "auger_heap_count"

#endif
