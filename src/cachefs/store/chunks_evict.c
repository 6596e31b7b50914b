/* SPDX-License-Identifier: MIT */
/* chunks_evict: which chunks are evicted; see chunks.h. */
#include "cachefs/store/chunks_internal.h"

#define SMALL_SHARE 8                 /* the small queue may have 1/8 of all bytes */
#define STEPS 64                      /* of eviction under the queues' lock before others get it */
#define BATCH_BYTES (2 * CHUNK_BYTES) /* evicted in these steps: not counted, and not freed yet */

/* Of the limit, less other tables: what main takes before there is a reason to prefer other data.
 * The rest is more than the small queue may have when eviction starts. */
#define FIRST_SHARE(bytes) ((bytes) / 4 * 3)

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
	q->bytes += chunk_usage(chunk);
}

static void dequeue(struct queue *q, struct chunk *chunk)
{
	if (q->hand == chunk)
		q->hand = chunk->after == chunk ? NULL : chunk->after;
	chunk->before->after = chunk->after;
	chunk->after->before = chunk->before;
	q->count--;
	q->bytes -= chunk_usage(chunk);
}

/* Under the node's lock. Of device and inode number: the node may be freed, and its address be
 * another file's, when the ghost is looked up. */
static uint32_t key_of(const struct chunk *chunk)
{
	uint64_t h = chunk->node->attr.st_ino * 0x9e3779b97f4a7c15u;

	h = (h ^ chunk->node->attr.st_dev) * 0x9e3779b97f4a7c15u;
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

/* Is there no reason yet to prefer other data? */
static bool is_first(const struct chunks *c, const struct chunk *chunk)
{
	uint64_t others = usage_total(c->usage) -
			  atomic_load_explicit(&c->usage->bytes[USAGE_DATA], memory_order_relaxed);

	return others < c->limit &&
	       c->main.bytes + chunk_usage(chunk) <= FIRST_SHARE(c->limit - others);
}

void chunks_enqueue(struct chunks *c, struct chunk *chunk)
{
	pthread_mutex_lock(&c->lock);
	chunk->in_main = has_ghost(c, chunk) || is_first(c, chunk);
	enqueue(chunk->in_main ? &c->main : &c->small, chunk);
	pthread_mutex_unlock(&c->lock);
}

void chunks_reduce(struct chunks *c, struct chunk *chunk, size_t bytes)
{
	pthread_mutex_lock(&c->lock);
	(chunk->in_main ? &c->main : &c->small)->bytes -= bytes;
	chunk->data_bytes -= bytes;
	pthread_mutex_unlock(&c->lock);
	usage_reduce(c->usage, USAGE_DATA, bytes);
}

/* Under the queues' lock: adds it to a list by after, to be freed without the lock, because giving
 * memory back takes time. False: it has readers, or its node is locked. */
static bool evict(struct chunks *c, struct queue *q, struct chunk *chunk, struct chunk **out)
{
	struct node *n = chunk->node;
	uint32_t key;

	if (atomic_load(&chunk->readers) || !node_trylock(c->nodes, n))
		return false;
	if (atomic_load(&chunk->readers)) {
		node_unlock(c->nodes, n);
		return false;
	}
	key = key_of(chunk);
	chunk_remove_and_punch(chunk);
	node_unlock(c->nodes, n);
	dequeue(q, chunk);
	if (!chunk->in_main)
		c->ghosts[key % GHOSTS] = (struct ghost){ key, c->made };
	chunk->after = *out;
	*out = chunk;
	usage_remove(c->usage, USAGE_DATA, chunk_usage(chunk));
	return true;
}

static void free_evicted(struct chunk *first)
{
	for (struct chunk *chunk = first, *after; chunk; chunk = after) {
		struct node *n = chunk->node;

		after = chunk->after;
		chunk_free(chunk);
		node_unref(n, 1);
	}
}

/* One step of the hand: evicts its chunk, or moves it on. */
static void advance(struct chunks *c, struct chunk **out)
{
	bool is_small = c->small.hand && (!c->main.hand || c->small.bytes * SMALL_SHARE >
								   c->small.bytes + c->main.bytes);
	struct queue *q = is_small ? &c->small : &c->main;
	struct chunk *chunk = q->hand;

	if (!atomic_exchange_explicit(&chunk->used, false, memory_order_relaxed)) {
		if (!evict(c, q, chunk, out))
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
	uint64_t begin = usage_total(c->usage), used = begin;
	struct chunk *evicted = NULL;
	bool goes_on = true;

	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < STEPS && goes_on && used + BATCH_BYTES > begin; i++) {
		used = usage_total(c->usage);
		goes_on = (c->small.hand || c->main.hand) && *tries && used > limit;
		if (goes_on) {
			advance(c, &evicted);
			--*tries;
		}
	}
	pthread_mutex_unlock(&c->lock);
	free_evicted(evicted);
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

/* The kernel may still read a file that is passed through: its data stays. */
static void free_queue(struct chunks *c, struct queue *q)
{
	while (q->hand) {
		struct chunk *chunk = q->hand;

		(void)chunk_remove(chunk);
		dequeue(q, chunk);
		node_unref(chunk->node, 1);
		usage_remove(c->usage, USAGE_DATA, chunk_usage(chunk));
		chunk_free(chunk);
	}
}

void chunks_free_all(struct chunks *c)
{
	free_queue(c, &c->small);
	free_queue(c, &c->main);
}
