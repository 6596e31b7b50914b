/* SPDX-License-Identifier: MIT */
#include "cachefs/store/chunks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cachefs/store/backing.h"

#define MAP_FROM (64 * 1024) /* chunks of this size use mmap(2): munmap frees them at once */
#define SMALL_SHARE 8        /* the small queue may have 1/8 of all bytes */
#define GHOSTS 8192
#define STEPS 64 /* of eviction under the queues' lock before others get it */
#define AGAIN 32 /* a read after so many new chunks is a reuse, not the same sequential read */

/* The chunks of one file: a table that grows, open addressing by index. */
struct content {
	struct chunk **slots;    /* [cap]; NULL: free */
	size_t count, cap;       /* cap: a power of two */
	struct backing *backing; /* has their bytes; NULL: each has its own memory */
};

struct queue {
	struct chunk *hand; /* the oldest; NULL: no chunk */
	size_t count;
	uint64_t bytes;
};

/* A chunk that was evicted from the small queue. If it is read again soon, it goes to main. */
struct ghost {
	uint32_t key;  /* of its file and index */
	uint32_t made; /* the value of chunks.made at its eviction */
};

struct chunks {
	pthread_mutex_t lock;
	struct queue small, main;    /* under lock */
	struct ghost ghosts[GHOSTS]; /* [key % GHOSTS]; under lock */
	_Atomic uint32_t made;
	struct nodes *nodes;
	struct usage *usage;
	uint64_t limit;       /* of usage */
	uint64_t max_backing; /* bytes of a backing file; written before start */
};

struct chunks *chunks_new(struct nodes *nodes, struct usage *usage, uint64_t limit)
{
	struct chunks *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->nodes = nodes;
	c->usage = usage;
	c->limit = limit;
	return c;
}

void chunks_enable_backing(struct chunks *c, uint64_t max_bytes)
{
	c->max_backing = max_bytes;
}

static size_t bytes_of(const struct chunk *chunk)
{
	return sizeof *chunk + chunk->cap + 2 * sizeof(struct chunk *);
}

static char *new_bytes(size_t cap)
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
	if (chunk->backing)
		backing_unref(chunk->backing);
	else if (chunk->cap < MAP_FROM)
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
	backing_unref(n->content->backing);
	free(n->content->slots);
	free(n->content);
	n->content = NULL;
}

/* Makes room for one more chunk; at most half of the slots are taken. */
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
	grown.backing = content->backing;
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

/* Under lock, this and the next. Behind the hand, which reaches it last. */
static void enqueue(struct queue *q, struct chunk *chunk)
{
	if (!q->hand) {
		chunk->before = chunk->after = chunk;
		q->hand = chunk;
	} else {
		chunk->after = q->hand;
		chunk->before = q->hand->before;
		chunk->before->after = chunk;
		chunk->after->before = chunk;
	}
	q->count++;
	q->bytes += bytes_of(chunk);
}

static void dequeue(struct queue *q, struct chunk *chunk)
{
	if (q->hand == chunk)
		q->hand = chunk->after == chunk ? NULL : chunk->after;
	chunk->before->after = chunk->after;
	chunk->after->before = chunk->before;
	q->count--;
	q->bytes -= bytes_of(chunk);
}

static uint32_t key_of(const struct chunk *chunk)
{
	uint64_t h = (uint64_t)(uintptr_t)chunk->node * 0x9e3779b97f4a7c15u;

	h = (h ^ chunk->index) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

/* Was it evicted from small so recently that a cache twice as large would still have it? */
static bool has_ghost(const struct chunks *c, const struct chunk *chunk)
{
	uint32_t key = key_of(chunk);
	const struct ghost *g = &c->ghosts[key % GHOSTS];

	return g->key == key && c->made - g->made <= c->main.count + c->small.count;
}

static void enter(struct chunks *c, struct chunk *chunk)
{
	pthread_mutex_lock(&c->lock);
	chunk->in_main = has_ghost(c, chunk);
	enqueue(chunk->in_main ? &c->main : &c->small, chunk);
	pthread_mutex_unlock(&c->lock);
}

/* Under the lock of n, which has a free slot. False: out of memory. */
static bool allocate(const struct chunks *c, const struct node *n, struct chunk *chunk,
		     uint64_t size)
{
	struct content *content = n->content;

	if (!content->count && size >= CHUNK_BYTES && size <= c->max_backing)
		content->backing = backing_new(size);
	if (content->backing && backing_size(content->backing) == size) {
		chunk->backing = backing_ref(content->backing);
		chunk->bytes = backing_at(chunk->backing, chunk->index * CHUNK_BYTES);
	} else {
		chunk->bytes = new_bytes(chunk->cap);
	}
	return chunk->bytes;
}

struct chunk *chunks_add(struct chunks *c, struct node *n, uint64_t index, uint64_t size)
{
	struct chunk *chunk = calloc(1, sizeof *chunk);
	uint64_t left = size - index * CHUNK_BYTES;

	if (!chunk)
		return NULL;
	chunk->index = index;
	chunk->cap = (size_t)(left < CHUNK_BYTES ? left : CHUNK_BYTES);
	if (!usage_try_add(c->usage, USAGE_DATA, bytes_of(chunk), c->limit)) {
		free(chunk);
		return NULL;
	}
	if (!make_slot(n) || !allocate(c, n, chunk, size)) {
		if (n->content && !n->content->count)
			free_content(n);
		usage_remove(c->usage, USAGE_DATA, bytes_of(chunk));
		free_chunk(chunk);
		return NULL;
	}
	chunk->node = node_ref(n);
	chunk->readers = 1;
	chunk->born = atomic_fetch_add(&c->made, 1);
	chunk->made = &c->made;
	n->content->slots[slot_of(n->content, index)] = chunk;
	n->content->count++;
	enter(c, chunk);
	return chunk;
}

void chunk_begin_read(struct chunk *chunk)
{
	atomic_fetch_add(&chunk->readers, 1);
	if (atomic_load_explicit(chunk->made, memory_order_relaxed) - chunk->born > AGAIN)
		atomic_store_explicit(&chunk->used, true, memory_order_relaxed);
}

uint64_t chunks_bytes(const struct node *n)
{
	uint64_t sum = 0;

	for (size_t i = 0; n->content && i < n->content->cap; i++)
		if (n->content->slots[i] && !n->content->slots[i]->inflight)
			sum += n->content->slots[i]->len;
	return sum;
}

void chunk_end_read(struct chunk *chunk)
{
	atomic_fetch_sub(&chunk->readers, 1);
}

/* Under the node's lock: frees its slot, and moves up the chunks that it had displaced. False: it
 * has no slot. */
static bool remove_from_content(struct chunk *chunk)
{
	struct content *content = chunk->node->content;
	size_t at;

	if (!content)
		return false;
	at = slot_of(content, chunk->index);
	if (content->slots[at] != chunk)
		return false;
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
	return true;
}

/* The same; frees its part of the backing file, before a new chunk uses that part. */
static void remove_and_punch(struct chunk *chunk)
{
	if (remove_from_content(chunk) && chunk->backing)
		backing_punch(chunk->backing, chunk->index * CHUNK_BYTES, chunk->cap);
}

/* Under the queues' lock. False: it has readers, or its node is locked. */
static bool evict(struct chunks *c, struct queue *q, struct chunk *chunk)
{
	struct node *n = chunk->node;
	uint32_t key = key_of(chunk);

	if (atomic_load(&chunk->readers) || !node_trylock(c->nodes, n))
		return false;
	if (atomic_load(&chunk->readers)) {
		node_unlock(c->nodes, n);
		return false;
	}
	remove_and_punch(chunk);
	node_unlock(c->nodes, n);
	dequeue(q, chunk);
	if (!chunk->in_main)
		c->ghosts[key % GHOSTS] = (struct ghost){ key, c->made };
	usage_remove(c->usage, USAGE_DATA, bytes_of(chunk));
	free_chunk(chunk);
	node_unref(n, 1);
	return true;
}

/* One step of the hand: evicts its chunk, or moves it on. */
static void advance(struct chunks *c)
{
	bool is_small = c->small.hand && (!c->main.hand || c->small.bytes * SMALL_SHARE >
								   c->small.bytes + c->main.bytes);
	struct queue *q = is_small ? &c->small : &c->main;
	struct chunk *chunk = q->hand;

	if (!atomic_exchange_explicit(&chunk->used, false, memory_order_relaxed)) {
		if (!evict(c, q, chunk))
			q->hand = chunk->after;
	} else if (is_small) {
		dequeue(q, chunk);
		chunk->in_main = true;
		enqueue(&c->main, chunk);
	} else {
		q->hand = chunk->after;
	}
}

/* False: the limit is met, or nothing can be evicted. */
static bool shrink_some(struct chunks *c, uint64_t limit, size_t *tries)
{
	bool goes_on = true;

	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < STEPS && goes_on; i++) {
		goes_on =
			(c->small.hand || c->main.hand) && *tries && usage_total(c->usage) > limit;
		if (goes_on) {
			advance(c);
			--*tries;
		}
	}
	pthread_mutex_unlock(&c->lock);
	return goes_on;
}

void chunks_shrink(struct chunks *c, uint64_t limit)
{
	size_t tries;

	if (usage_total(c->usage) <= limit)
		return;
	pthread_mutex_lock(&c->lock);
	tries = 3 * (c->small.count + c->main.count);
	pthread_mutex_unlock(&c->lock);
	while (shrink_some(c, limit, &tries))
		;
}

void chunk_invalidate(struct chunk *chunk)
{
	remove_and_punch(chunk);
	atomic_store(&chunk->used, false);
}

bool chunks_pin(const struct node *n, struct chunks_pinned *ret)
{
	const struct content *content = n->content;
	uint64_t size = content && content->backing ? backing_size(content->backing) : 0;
	struct chunks_pinned pinned = { .backing = NULL };

	if (!size || content->count != (size + CHUNK_BYTES - 1) / CHUNK_BYTES)
		return false;
	for (size_t i = 0; i < content->cap; i++)
		if (content->slots[i] &&
		    (content->slots[i]->inflight || content->slots[i]->backing != content->backing))
			return false;
	pinned.list = calloc(content->count, sizeof(struct chunk *));
	if (!pinned.list)
		return false;
	pinned.backing = backing_ref(content->backing);
	for (size_t i = 0; i < content->cap; i++)
		if (content->slots[i]) {
			pinned.list[pinned.count++] = content->slots[i];
			chunk_begin_read(content->slots[i]);
		}
	*ret = pinned;
	return true;
}

void chunks_unpin(struct chunks_pinned *pinned)
{
	for (size_t i = 0; i < pinned->count; i++)
		chunk_end_read(pinned->list[i]);
	free(pinned->list);
	backing_unref(pinned->backing);
	*pinned = (struct chunks_pinned){ 0 };
}

/* The chunks stay in their queue until the hand evicts them: the queues' lock is not held here. */
void chunks_invalidate(struct node *n)
{
	struct content *content = n->content;

	if (!content)
		return;
	for (size_t i = 0; i < content->cap; i++)
		if (content->slots[i])
			atomic_store(&content->slots[i]->used, false);
	free_content(n);
}

static void free_queue(struct chunks *c, struct queue *q)
{
	while (q->hand) {
		struct chunk *chunk = q->hand;

		remove_from_content(chunk);
		dequeue(q, chunk);
		node_unref(chunk->node, 1);
		usage_remove(c->usage, USAGE_DATA, bytes_of(chunk));
		free_chunk(chunk);
	}
}

void chunks_free(struct chunks *c)
{
	if (!c)
		return;
	free_queue(c, &c->small);
	free_queue(c, &c->main);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
