/* SPDX-License-Identifier: MIT */
#include "cachefs/memory/blocks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

/* BLOCK_MIN bytes of a region. Only the first one of a larger block is used. */
struct block {
	struct block *next, *before; /* in a list of unused blocks */
	struct region *region;
	uint8_t order;  /* of the block that begins here: BLOCK_MIN << order bytes */
	bool is_unused; /* a block begins here that is in a list */
};

struct region {
	char *bytes;   /* [region_bytes]; only BLOCK_MAX blocks are aligned to their size */
	size_t in_use; /* blocks */
	struct block blocks[];
};

char *block_bytes(const struct block *block)
{
	return block->region->bytes + (size_t)(block - block->region->blocks) * BLOCK_MIN;
}

static void enlist(struct blocks *b, struct block *block, unsigned order)
{
	struct block **list = &b->unused[order];

	block->order = (uint8_t)order;
	block->is_unused = true;
	block->before = NULL;
	block->next = *list;
	if (*list)
		(*list)->before = block;
	*list = block;
}

static void unlist(struct blocks *b, struct block *block)
{
	if (block->before)
		block->before->next = block->next;
	else
		b->unused[block->order] = block->next;
	if (block->next)
		block->next->before = block->before;
	block->is_unused = false;
}

/* False: out of memory, addresses or mappings. */
static bool add_region(struct blocks *b)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	size_t count = b->region_bytes / BLOCK_MIN;
	struct region *r = calloc(1, sizeof *r + count * sizeof *r->blocks);

	if (!r)
		return false;
	/* cppcheck-suppress invalidFunctionArg ; -1 is the descriptor of no file */
	r->bytes = mmap(NULL, b->region_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (r->bytes == MAP_FAILED) {
		free(r);
		return false;
	}
	/* A huge page would take memory where nothing was written. */
	madvise(r->bytes, b->region_bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < count; i++)
		r->blocks[i].region = r;
	for (size_t i = count; i; i -= BLOCK_MAX / BLOCK_MIN)
		enlist(b, &r->blocks[i - BLOCK_MAX / BLOCK_MIN], BLOCK_ORDERS - 1);
	b->regions++;
	b->spare = r;
	return true;
}

static void remove_region(struct blocks *b, struct region *r)
{
	for (size_t i = 0; i < b->region_bytes / BLOCK_MIN; i += BLOCK_MAX / BLOCK_MIN)
		unlist(b, &r->blocks[i]);
	munmap(r->bytes, b->region_bytes);
	b->regions--;
	free(r);
}

struct block *blocks_take(struct blocks *b, size_t bytes)
{
	unsigned order = 0, from;
	struct block *block;

	while (BLOCK_MIN << order < bytes)
		order++;
	for (from = order; from < BLOCK_ORDERS && !b->unused[from];)
		from++;
	if (from == BLOCK_ORDERS) {
		if (!add_region(b))
			return NULL;
		from = BLOCK_ORDERS - 1;
	}
	block = b->unused[from];
	unlist(b, block);
	for (; from > order; from--)
		enlist(b, block + ((size_t)1 << (from - 1)), from - 1);
	block->order = (uint8_t)order;
	if (!block->region->in_use++ && b->spare == block->region)
		b->spare = NULL;
	return block;
}

void blocks_give(struct blocks *b, struct block *block)
{
	struct region *r = block->region;
	unsigned order = block->order;

	for (; order < BLOCK_ORDERS - 1; order++) {
		size_t at = (size_t)(block - r->blocks);
		struct block *buddy = &r->blocks[at ^ (size_t)1 << order];

		if (!buddy->is_unused || buddy->order != order)
			break;
		unlist(b, buddy);
		if (buddy < block)
			block = buddy;
	}
	enlist(b, block, order);
	if (--r->in_use)
		return;
	if (b->spare)
		remove_region(b, r);
	else
		b->spare = r;
}

void blocks_discard(char *bytes, size_t len)
{
	madvise(bytes, len, MADV_DONTNEED);
}

void blocks_fini(struct blocks *b)
{
	if (b->spare)
		remove_region(b, b->spare);
	b->spare = NULL;
}
