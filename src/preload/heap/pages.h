/* SPDX-License-Identifier: MIT */
/* pages: memory of our own, from mmap: never from the malloc that is measured. errno is kept. */
#ifndef PRELOAD_HEAP_PAGES_H
#define PRELOAD_HEAP_PAGES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* Zeroes; pages that are not touched take no memory. NULL: none. */
static inline void *pages_new(size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	int saved = errno;
	/* cppcheck-suppress invalidFunctionArg */
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

	errno = saved;
	return pages == MAP_FAILED ? NULL : pages;
}

static inline void pages_free(void *pages, size_t bytes)
{
	int saved = errno;

	munmap(pages, bytes);
	errno = saved;
}

/* Their memory; they are zeroes from now on. Whole pages of it only. */
static inline void pages_drop(void *from, size_t bytes)
{
	uintptr_t start = ((uintptr_t)from + 4095) & ~(uintptr_t)4095;
	uintptr_t end = ((uintptr_t)from + bytes) & ~(uintptr_t)4095;
	int saved = errno;

	if (start < end)
		madvise((void *)start, end - start, MADV_DONTNEED);
	errno = saved;
}

#endif
