/* SPDX-License-Identifier: MIT */
#include "stage/arena.h"

#include <stdint.h>
#include <sys/mman.h>

#define BLOCK_SIZE ((size_t)65536)
#define ALIGN ((size_t)64)

struct arena_block {
	struct arena_block *older;
	size_t size; /* bytes, with this header */
};

void *pages_map(size_t size)
{
	/* cppcheck-suppress invalidFunctionArg ; -1 is the descriptor of no file */
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

static size_t round_up(size_t size, size_t to)
{
	return (size + to - 1) & ~(to - 1);
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *block = a->blocks;
	void *memory;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = round_up(size, ALIGN);
	if (!block || block->size - a->used < size) {
		size_t whole = round_up(size + ALIGN, BLOCK_SIZE);

		block = pages_map(whole);
		if (!block)
			return NULL;
		block->older = a->blocks;
		block->size = whole;
		a->blocks = block;
		a->used = ALIGN;
	}
	memory = (char *)block + a->used;
	a->used += size;
	return memory;
}

void arena_fini(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *block = a->blocks;

		a->blocks = block->older;
		munmap(block, block->size);
	}
	a->used = 0;
}
