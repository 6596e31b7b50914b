/* SPDX-License-Identifier: MIT */
#include "cachefs/store/chunks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cachefs/store/whole.h"

#define MAP_FROM (64 * 1024) /* chunks of so many bytes go back to the system at once */
#define FRESH_SHARE 8        /* of all bytes: this part may be fresh */
#define GHOSTS 8192
#define STEPS 64 /* of the hands in one go: others wait for the rings meanwhile */
#define AGAIN 32 /* chunks made in between: it is used again, and not still being read */

/* The chunks of one file: a table that grows, open addressing by index. */
struct content {
	struct chunk **slots; /* [cap]; NULL: free */
	size_t count, cap;    /* cap: a power of two */
	struct whole *whole;  /* where they are; NULL: each in room of its own */
};

struct ring {
	struct chunk *hand; /* NULL: no chunk */
	size_t count;
	uint64_t bytes;
};

/* A fresh chunk that went. When it is back soon, it should have been kept. */
struct ghost {
	uint32_t key;  /* of its file and index */
	uint32_t made; /* when it went */
};

struct chunks {
	pthread_mutex_t lock;
	struct ring fresh, kept;     /* under lock */
	struct ghost ghosts[GHOSTS]; /* [key % GHOSTS]; under lock */
	_Atomic uint32_t made;
	struct nodes *nodes;
	struct usage *usage;
	uint64_t limit;     /* of usage */
	uint64_t max_whole; /* written before start */
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

void chunks_keep_whole(struct chunks *c, uint64_t max_bytes)
{
	c->max_whole = max_bytes;
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
	if (chunk->whole)
		whole_unref(chunk->whole);
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
	whole_unref(n->content->whole);
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
	grown.whole = content->whole;
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

/* Under lock, these three. Behind the hand: it comes by last. */
static void enter_ring(struct ring *r, struct chunk *chunk)
{
	if (!r->hand) {
		chunk->before = chunk->after = chunk;
		r->hand = chunk;
	} else {
		chunk->after = r->hand;
		chunk->before = r->hand->before;
		chunk->before->after = chunk;
		chunk->after->before = chunk;
	}
	r->count++;
	r->bytes += bytes_of(chunk);
}

static void leave_ring(struct ring *r, struct chunk *chunk)
{
	if (r->hand == chunk)
		r->hand = chunk->after == chunk ? NULL : chunk->after;
	chunk->before->after = chunk->after;
	chunk->after->before = chunk->before;
	r->count--;
	r->bytes -= bytes_of(chunk);
}

static uint32_t key_of(const struct chunk *chunk)
{
	uint64_t h = (uint64_t)(uintptr_t)chunk->node * 0x9e3779b97f4a7c15u;

	h = (h ^ chunk->index) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

/* Did it go when fewer chunks than now are kept had come after it? */
static bool is_back(const struct chunks *c, const struct chunk *chunk)
{
	uint32_t key = key_of(chunk);
	const struct ghost *g = &c->ghosts[key % GHOSTS];

	return g->key == key && c->made - g->made <= c->kept.count + c->fresh.count;
}

static void enter(struct chunks *c, struct chunk *chunk)
{
	pthread_mutex_lock(&c->lock);
	chunk->is_kept = is_back(c, chunk);
	enter_ring(chunk->is_kept ? &c->kept : &c->fresh, chunk);
	pthread_mutex_unlock(&c->lock);
}

/* Under the lock of n, which has a slot for it. False: out of memory. */
static bool take_room(const struct chunks *c, const struct node *n, struct chunk *chunk,
		      uint64_t size)
{
	struct content *content = n->content;

	if (!content->count && size >= CHUNK_BYTES && size <= c->max_whole)
		content->whole = whole_new(size);
	if (content->whole && whole_size(content->whole) == size) {
		chunk->whole = whole_ref(content->whole);
		chunk->bytes = whole_at(chunk->whole, chunk->index * CHUNK_BYTES);
	} else {
		chunk->bytes = get_room(chunk->cap);
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
	if (!make_slot(n) || !take_room(c, n, chunk, size)) {
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

void chunks_read(struct chunk *chunk)
{
	atomic_fetch_add(&chunk->readers, 1);
	if (atomic_load_explicit(chunk->made, memory_order_relaxed) - chunk->born > AGAIN)
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

/* Under the node's lock. Those behind it that stood there because of it move up. False: it was
 * forgotten already. */
static bool leave_content(struct chunk *chunk)
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

/* The same. Its part of a whole goes at once: from now on another may come into its place. */
static void leave_for_good(struct chunk *chunk)
{
	if (leave_content(chunk) && chunk->whole)
		whole_drop(chunk->whole, chunk->index * CHUNK_BYTES, chunk->cap);
}

/* Under the rings' lock, and not when somebody holds the node's. */
static bool take(struct chunks *c, struct ring *r, struct chunk *chunk)
{
	struct node *n = chunk->node;
	uint32_t key = key_of(chunk);

	if (atomic_load(&chunk->readers) || !node_trylock(c->nodes, n))
		return false;
	if (atomic_load(&chunk->readers)) {
		node_unlock(c->nodes, n);
		return false;
	}
	leave_for_good(chunk);
	node_unlock(c->nodes, n);
	leave_ring(r, chunk);
	if (!chunk->is_kept)
		c->ghosts[key % GHOSTS] = (struct ghost){ key, c->made };
	usage_remove(c->usage, USAGE_DATA, bytes_of(chunk));
	free_chunk(chunk);
	node_unref(n, 1);
	return true;
}

/* The next one whose turn it is, in either ring, goes, or shows why not. */
static void advance(struct chunks *c)
{
	bool is_fresh = c->fresh.hand && (!c->kept.hand || c->fresh.bytes * FRESH_SHARE >
								   c->fresh.bytes + c->kept.bytes);
	struct ring *r = is_fresh ? &c->fresh : &c->kept;
	struct chunk *chunk = r->hand;

	if (!atomic_exchange_explicit(&chunk->used, false, memory_order_relaxed)) {
		if (!take(c, r, chunk))
			r->hand = chunk->after;
	} else if (is_fresh) {
		leave_ring(r, chunk);
		chunk->is_kept = true;
		enter_ring(&c->kept, chunk);
	} else {
		r->hand = chunk->after;
	}
}

/* False: it is done. */
static bool shrink_some(struct chunks *c, uint64_t limit, size_t *tries)
{
	bool goes_on = true;

	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < STEPS && goes_on; i++) {
		goes_on =
			(c->fresh.hand || c->kept.hand) && *tries && usage_total(c->usage) > limit;
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
	tries = 3 * (c->fresh.count + c->kept.count);
	pthread_mutex_unlock(&c->lock);
	while (shrink_some(c, limit, &tries))
		;
}

void chunks_forget_one(struct chunk *chunk)
{
	leave_for_good(chunk);
	atomic_store(&chunk->used, false);
}

bool chunks_hold(const struct node *n, struct chunks_held *ret)
{
	const struct content *content = n->content;
	uint64_t size = content && content->whole ? whole_size(content->whole) : 0;
	struct chunks_held held = { .whole = NULL };

	if (!size || content->count != (size + CHUNK_BYTES - 1) / CHUNK_BYTES)
		return false;
	for (size_t i = 0; i < content->cap; i++)
		if (content->slots[i] &&
		    (content->slots[i]->flight || content->slots[i]->whole != content->whole))
			return false;
	held.list = calloc(content->count, sizeof(struct chunk *));
	if (!held.list)
		return false;
	held.whole = whole_ref(content->whole);
	for (size_t i = 0; i < content->cap; i++)
		if (content->slots[i]) {
			held.list[held.count++] = content->slots[i];
			chunks_read(content->slots[i]);
		}
	*ret = held;
	return true;
}

void chunks_let_go(struct chunks_held *held)
{
	for (size_t i = 0; i < held->count; i++)
		chunk_done(held->list[i]);
	free(held->list);
	whole_unref(held->whole);
	*held = (struct chunks_held){ 0 };
}

/* They stay in their ring, unused, where the hand finds them: the rings' lock is not ours here. */
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

static void free_ring(struct chunks *c, struct ring *r)
{
	while (r->hand) {
		struct chunk *chunk = r->hand;

		leave_content(chunk);
		leave_ring(r, chunk);
		node_unref(chunk->node, 1);
		usage_remove(c->usage, USAGE_DATA, bytes_of(chunk));
		free_chunk(chunk);
	}
}

void chunks_free(struct chunks *c)
{
	if (!c)
		return;
	free_ring(c, &c->fresh);
	free_ring(c, &c->kept);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
