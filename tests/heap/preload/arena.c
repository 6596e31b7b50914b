/* SPDX-License-Identifier: MIT */
/* arena: an allocator that maps each block, as those that a program is linked with map theirs. */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))
#define HEADER 64 /* before a block: how many bytes are mapped */

EXPORT void *malloc(size_t size);
EXPORT void *calloc(size_t count, size_t size);
EXPORT void *realloc(void *block, size_t size);
EXPORT void free(void *block);

void *malloc(size_t size)
{
	size_t *pages = mmap(NULL, size + HEADER, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	pages[0] = size + HEADER;
	return (char *)pages + HEADER;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

static size_t *header_of(void *block)
{
	return (size_t *)(void *)((char *)block - HEADER);
}

void free(void *block)
{
	if (block)
		munmap(header_of(block), *header_of(block));
}

void *realloc(void *block, size_t size)
{
	void *fresh = malloc(size);
	size_t old = block ? *header_of(block) - HEADER : 0;

	if (fresh && block)
		memcpy(fresh, block, old < size ? old : size);
	if (fresh)
		free(block);
	return fresh;
}
