/* SPDX-License-Identifier: MIT */
#include "cachefs/memory/slabs.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachefs/memory/blocks.h"

#define CLASS_MIN_SHIFT 7
#define CLASS_MIN (1 << CLASS_MIN_SHIFT) /* bytes of the smallest class */
#define PER_DOUBLING 16                  /* classes between a power of two and the next */
#define CLASSES (1 + 8 * PER_DOUBLING)
#define WORD_BITS 64
#define SLOTS_MAX (BLOCK_MIN / CLASS_MIN)
#define WIDE_FROM 8192 /* slabs of this class and above have WIDE_BYTES */
#define WIDE_BYTES (4 * BLOCK_MIN)
#define REGION_MIN (UINT64_C(2) << 20)
#define REGION_MAX (UINT64_C(32) << 20)
#define REGIONS 16 /* as long as they may be smaller than REGION_MAX */

static_assert(CLASS_MIN << (CLASSES / PER_DOUBLING) == SLAB_LARGE, "the last class");

/* A block that is divided into slots of one class. */
struct slab {
	struct slab *next, *before; /* in the list of slabs with unused slots */
	struct block *block;
	unsigned class, slots;
	unsigned used;                         /* slots */
	uint64_t taken[SLOTS_MAX / WORD_BITS]; /* a bit a slot; also set behind the last one */
};

struct slabs {
	pthread_mutex_t lock;
	struct blocks blocks;          /* this and below: under lock */
	struct slab *partial[CLASSES]; /* slabs with unused slots */
	size_t page_bytes;             /* never changes */
};

/* The slot sizes are CLASS_MIN, and then PER_DOUBLING steps to each next power of two. */
static unsigned class_of(size_t len)
{
	unsigned e = CLASS_MIN_SHIFT;
	size_t step;

	if (len <= CLASS_MIN)
		return 0;
	while ((size_t)2 << e < len)
		e++;
	step = ((size_t)1 << e) / PER_DOUBLING;
	return (e - CLASS_MIN_SHIFT) * PER_DOUBLING +
	       (unsigned)((len - ((size_t)1 << e) + step - 1) / step);
}

static size_t slot_bytes(unsigned class)
{
	size_t base = (size_t)CLASS_MIN << class / PER_DOUBLING;

	return base + class % PER_DOUBLING * (base / PER_DOUBLING);
}

struct slabs *slabs_new(uint64_t limit)
{
	struct slabs *s = calloc(1, sizeof *s);
	uint64_t region_bytes = REGION_MIN;

	if (!s)
		return NULL;
	while (region_bytes < REGION_MAX && region_bytes * REGIONS < limit)
		region_bytes *= 2;
	s->blocks.region_bytes = (size_t)region_bytes;
	s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void slabs_free(struct slabs *s)
{
	if (!s)
		return;
	blocks_fini(&s->blocks);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

size_t slabs_page_bytes(const struct slabs *s)
{
	return s->page_bytes;
}

size_t slabs_round(const struct slabs *s, size_t len)
{
	if (len <= SLAB_LARGE)
		return slot_bytes(class_of(len));
	return (len + s->page_bytes - 1) & ~(s->page_bytes - 1);
}

/* Under lock, as all below. */
static void enlist(struct slabs *s, struct slab *slab)
{
	struct slab **list = &s->partial[slab->class];

	slab->before = NULL;
	slab->next = *list;
	if (*list)
		(*list)->before = slab;
	*list = slab;
}

static void unlist(struct slabs *s, struct slab *slab)
{
	if (slab->before)
		slab->before->next = slab->next;
	else
		s->partial[slab->class] = slab->next;
	if (slab->next)
		slab->next->before = slab->before;
}

static struct slab *add_slab(struct slabs *s, unsigned class)
{
	size_t slot = slot_bytes(class), bytes = slot < WIDE_FROM ? BLOCK_MIN : WIDE_BYTES;
	struct slab *slab = calloc(1, sizeof *slab);

	if (!slab)
		return NULL;
	slab->block = blocks_take(&s->blocks, bytes);
	if (!slab->block) {
		free(slab);
		return NULL;
	}
	slab->class = class;
	slab->slots = (unsigned)(bytes / slot);
	for (unsigned i = slab->slots; i < SLOTS_MAX; i++)
		slab->taken[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
	enlist(s, slab);
	return slab;
}

static char *slot_at(const struct slab *slab, size_t i)
{
	return block_bytes(slab->block) + i * slot_bytes(slab->class);
}

/* The slab has an unused slot. */
static char *take_slot(struct slabs *s, struct slab *slab)
{
	unsigned word = 0, bit;

	while (!~slab->taken[word])
		word++;
	bit = (unsigned)__builtin_ctzll(~slab->taken[word]);
	slab->taken[word] |= UINT64_C(1) << bit;
	if (++slab->used == slab->slots)
		unlist(s, slab);
	return slot_at(slab, word * WORD_BITS + bit);
}

static bool is_taken(const struct slab *slab, size_t i)
{
	return i < slab->slots && slab->taken[i / WORD_BITS] >> i % WORD_BITS & 1;
}

/* Does a taken slot have a part of [begin, end)? Offsets in the slab. */
static bool has_taken(const struct slab *slab, size_t begin, size_t end)
{
	size_t slot = slot_bytes(slab->class);

	for (size_t i = begin / slot; i * slot < end; i++)
		if (is_taken(slab, i))
			return true;
	return false;
}

/* Slot i was taken until now: gives back the pages that no other slot has a part of. */
static void discard_slot(const struct slabs *s, const struct slab *slab, size_t i)
{
	size_t slot = slot_bytes(slab->class), page = s->page_bytes;
	size_t begin = i * slot / page * page, end = ((i + 1) * slot + page - 1) / page * page;

	if (has_taken(slab, begin, i * slot))
		begin += page;
	if (end > begin && has_taken(slab, (i + 1) * slot, end))
		end -= page;
	if (end > begin)
		blocks_discard(block_bytes(slab->block) + begin, end - begin);
}

static void give_slot(struct slabs *s, struct slab *slab, const char *bytes)
{
	size_t i = (size_t)(bytes - block_bytes(slab->block)) / slot_bytes(slab->class);

	slab->taken[i / WORD_BITS] &= ~(UINT64_C(1) << i % WORD_BITS);
	discard_slot(s, slab, i);
	if (slab->used-- == slab->slots)
		enlist(s, slab);
	if (slab->used)
		return;
	unlist(s, slab);
	blocks_give(&s->blocks, slab->block);
	free(slab);
}

bool slabs_take(struct slabs *s, size_t len, struct slab_piece *ret)
{
	unsigned class = len <= SLAB_LARGE ? class_of(len) : CLASSES;

	pthread_mutex_lock(&s->lock);
	if (class == CLASSES) {
		struct block *block = blocks_take(&s->blocks, len);

		*ret = (struct slab_piece){ block ? block_bytes(block) : NULL, block };
	} else {
		struct slab *slab = s->partial[class] ? s->partial[class] : add_slab(s, class);

		*ret = (struct slab_piece){ slab ? take_slot(s, slab) : NULL, slab };
	}
	pthread_mutex_unlock(&s->lock);
	return ret->bytes;
}

void slabs_give(struct slabs *s, struct slab_piece piece, size_t len)
{
	if (len > SLAB_LARGE) /* no other thread has a part of its pages */
		blocks_discard(piece.bytes, slabs_round(s, len));
	pthread_mutex_lock(&s->lock);
	if (len > SLAB_LARGE)
		blocks_give(&s->blocks, piece.owner);
	else
		give_slot(s, piece.owner, piece.bytes);
	pthread_mutex_unlock(&s->lock);
}
