/* SPDX-License-Identifier: MIT */
#include "cachefs/chunks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAP_FROM (64 * 1024) /* chunks of so many bytes go back to the system at once */

/* The chunks of one file: a table that grows, open addressing by index. */
struct content {
	struct chunk **slots; /* [cap]; NULL: free */
	size_t count, cap;    /* cap: a power of two */
};

struct chunks {
	pthread_mutex_t lock;
	struct chunk *hand; /* of the ring; NULL: no chunk. Under lock */
	struct nodes *nodes;
	struct usage *usage;
};

struct chunks *chunks_new(struct nodes *nodes, struct usage *usage)
{
	struct chunks *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->nodes = nodes;
	c->usage = usage;
	return c;
}

static size_t bytes_of(const struct chunk *chunk)
{
	return sizeof *chunk + chunk->cap + 2 * sizeof(struct chunk *);
}

static char *get_room(size_t cap)
{
	void *room;

	if (cap < MAP_FROM)
		return malloc(cap ? cap : 1);
	/* cppcheck-suppress invalidFunctionArg ; -1 is the descriptor of no file */
	room = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return room == MAP_FAILED ? NULL : room;
}

static void free_chunk(struct chunk *chunk)
{
	if (chunk->cap < MAP_FROM)
		free(chunk->bytes);
	else if (chunk->bytes)
		munmap(chunk->bytes, chunk->cap);
	free(chunk);
}

static size_t slot_of(const struct content *content, uint64_t index)
{
	size_t at = (size_t)(index * 0x9e3779b97f4a7c15u >> 20) & (content->cap - 1);

	while (content->slots[at] && content->slots[at]->index != index)
		at = (at + 1) & (content->cap - 1);
	return at;
}

struct chunk *chunks_find(const struct node *n, uint64_t index)
{
	return n->content ? n->content->slots[slot_of(n->content, index)] : NULL;
}

static void free_content(struct node *n)
{
	free(n->content->slots);
	free(n->content);
	n->content = NULL;
}

/* Room for one more chunk of n, at most half of the slots taken. */
static bool make_slot(struct node *n)
{
	struct content *content = n->content, grown = { 0 };

	if (content && 2 * (content->count + 1) <= content->cap)
		return true;
	if (!content)
		content = calloc(1, sizeof *content);
	if (!content)
		return false;
	grown.cap = content->cap ? 2 * content->cap : 2;
	grown.count = content->count;
	grown.slots = calloc(grown.cap, sizeof *grown.slots);
	if (!grown.slots) {
		if (!n->content)
			free(content);
		return false;
	}
	for (size_t i = 0; i < content->cap; i++)
		if (content->slots[i])
			grown.slots[slot_of(&grown, content->slots[i]->index)] = content->slots[i];
	free(content->slots);
	*content = grown;
	n->content = content;
	return true;
}

/* Behind the hand: it comes by last. */
static void enter_ring(struct chunks *c, struct chunk *chunk)
{
	pthread_mutex_lock(&c->lock);
	if (!c->hand) {
		chunk->before = chunk->after = chunk;
		c->hand = chunk;
	} else {
		chunk->after = c->hand;
		chunk->before = c->hand->before;
		chunk->before->after = chunk;
		chunk->after->before = chunk;
	}
	pthread_mutex_unlock(&c->lock);
}

/* Under the ring's lock. */
static void leave_ring(struct chunks *c, struct chunk *chunk)
{
	if (c->hand == chunk)
		c->hand = chunk->after == chunk ? NULL : chunk->after;
	chunk->before->after = chunk->after;
	chunk->after->before = chunk->before;
}

struct chunk *chunks_add(struct chunks *c, struct node *n, uint64_t index, size_t cap)
{
	struct chunk *chunk = calloc(1, sizeof *chunk);

	if (!chunk)
		return NULL;
	chunk->bytes = get_room(cap);
	chunk->cap = cap;
	if (!chunk->bytes || !make_slot(n)) {
		free_chunk(chunk);
		return NULL;
	}
	chunk->index = index;
	chunk->node = node_ref(n);
	chunk->readers = 1;
	chunk->used = true;
	n->content->slots[slot_of(n->content, index)] = chunk;
	n->content->count++;
	usage_add(c->usage, USAGE_DATA, bytes_of(chunk));
	enter_ring(c, chunk);
	return chunk;
}

void chunks_read(struct chunk *chunk)
{
	atomic_fetch_add(&chunk->readers, 1);
	atomic_store_explicit(&chunk->used, true, memory_order_relaxed);
}

uint64_t chunks_bytes(const struct node *n)
{
	uint64_t sum = 0;

	for (size_t i = 0; n->content && i < n->content->cap; i++)
		if (n->content->slots[i] && !n->content->slots[i]->flight)
			sum += n->content->slots[i]->len;
	return sum;
}

void chunk_done(struct chunk *chunk)
{
	atomic_fetch_sub(&chunk->readers, 1);
}

/* Under the node's lock. Those behind it that stood there because of it move up. */
static void leave_content(struct chunk *chunk)
{
	struct content *content = chunk->node->content;
	size_t at;

	if (!content)
		return;
	at = slot_of(content, chunk->index);
	if (content->slots[at] != chunk)
		return; /* forgotten already */
	content->slots[at] = NULL;
	content->count--;
	for (size_t i = (at + 1) & (content->cap - 1); content->slots[i];
	     i = (i + 1) & (content->cap - 1)) {
		struct chunk *moved = content->slots[i];

		content->slots[i] = NULL;
		content->slots[slot_of(content, moved->index)] = moved;
	}
	if (!content->count)
		free_content(chunk->node);
}

/* Under the ring's lock, and not when somebody holds the node's. */
static bool take(struct chunks *c, struct chunk *chunk)
{
	struct node *n = chunk->node;

	if (atomic_load(&chunk->readers) || !node_trylock(c->nodes, n))
		return false;
	if (atomic_load(&chunk->readers)) {
		node_unlock(c->nodes, n);
		return false;
	}
	leave_content(chunk);
	node_unlock(c->nodes, n);
	leave_ring(c, chunk);
	usage_remove(c->usage, USAGE_DATA, bytes_of(chunk));
	free_chunk(chunk);
	node_unref(n, 1);
	return true;
}

void chunks_shrink(struct chunks *c, uint64_t limit)
{
	size_t tries;

	if (usage_total(c->usage) <= limit)
		return;
	pthread_mutex_lock(&c->lock);
	tries = 2 * atomic_load(&c->usage->entries[USAGE_DATA]);
	while (c->hand && tries-- && usage_total(c->usage) > limit) {
		struct chunk *chunk = c->hand;

		if (atomic_exchange_explicit(&chunk->used, false, memory_order_relaxed) ||
		    !take(c, chunk))
			c->hand = chunk->after;
	}
	pthread_mutex_unlock(&c->lock);
}

void chunks_forget_one(struct chunk *chunk)
{
	leave_content(chunk);
	atomic_store(&chunk->used, false);
}

/* They stay in the ring, unused, where the hand finds them: the ring's lock is not ours here. */
void chunks_forget(struct node *n)
{
	struct content *content = n->content;

	if (!content)
		return;
	for (size_t i = 0; i < content->cap; i++)
		if (content->slots[i])
			atomic_store(&content->slots[i]->used, false);
	free_content(n);
}

void chunks_free(struct chunks *c)
{
	if (!c)
		return;
	while (c->hand) {
		struct chunk *chunk = c->hand;

		leave_content(chunk);
		leave_ring(c, chunk);
		node_unref(chunk->node, 1);
		usage_remove(c->usage, USAGE_DATA, bytes_of(chunk));
		free_chunk(chunk);
	}
	pthread_mutex_destroy(&c->lock);
	free(c);
}
