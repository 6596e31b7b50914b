/* SPDX-License-Identifier: MIT */
/*
 * real: the functions that would be called without us: of the libraries behind ours, so that an
 * allocator that the program is linked with is used.
 */
#ifndef PRELOAD_HEAP_REAL_H
#define PRELOAD_HEAP_REAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct real {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	int (*dlclose)(void *);
	void *(*dlopen)(const char *, int);
	void *(*dlsym)(void *, const char *);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	uint64_t allocator_start, allocator_end; /* the module of malloc, if it is known */
};

extern struct real real; /* malloc is the last to be set; NULL: none is */

/* Runs in the first call of a hook: before a second thread exists. */
void real_resolve(void);

/* Where the dynamic linker may be asked: finds the module of malloc. */
void real_find_allocator(void);

static inline bool real_is_allocator(uint64_t code)
{
	return code >= real.allocator_start && code < real.allocator_end;
}

static inline bool real_is_ready(void)
{
	if (__builtin_expect(real.malloc == NULL, 0))
		real_resolve();
	return __builtin_expect(real.malloc != NULL, 1);
}

/* Memory for what dlsym() itself allocates meanwhile: zeroes, never freed. NULL: used up. */
void *real_early_alloc(size_t size);
bool real_is_early(const void *block);

/* Bytes behind block that may be read: its size is not known. */
size_t real_early_left(const void *block);

#endif
