/* SPDX-License-Identifier: MIT */
#include "cachefs/store/chunks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/macros.h"
#include "cachefs/memory/backing.h"
#include "cachefs/memory/blocks.h"
#include "cachefs/store/chunks_internal.h"

static_assert(BOOKKEEPING <= 256, "as in CHUNK_EXTRA");

#define BACKING_FDS 4096
#define AGAIN 32 /* a read after so many new chunks is a reuse, not the same sequential read */

/* A part of the descriptors that the process may have. */
static unsigned max_backing_fds(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 4 > BACKING_FDS)
		return BACKING_FDS;
	return limit.rlim_cur < 8 ? 1 : (unsigned)limit.rlim_cur / 4;
}

struct chunks *chunks_new(struct nodes *nodes, struct usage *usage, uint64_t limit)
{
	struct chunks *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->nodes = nodes;
	c->usage = usage;
	c->limit = limit;
	c->backings = backings_new(max_backing_fds());
	c->slabs = slabs_new(limit);
	/* cppcheck-suppress invalidFunctionArg ; -1 is the descriptor of no file */
	c->zeros = mmap(NULL, CHUNK_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->backings && c->slabs && c->zeros != MAP_FAILED)
		return c;
	chunks_free(c);
	return NULL;
}

void chunks_enable_backing(struct chunks *c, uint64_t max_bytes)
{
	c->max_backing = max_bytes;
}

static void free_bytes(struct chunk *chunk)
{
	if (chunk->piece.bytes)
		slabs_give(chunk->chunks->slabs, chunk->piece, chunk->cap);
	chunk->piece = (struct slab_piece){ 0 };
}

void chunk_free(struct chunk *chunk)
{
	free_bytes(chunk);
	backing_unref(chunk->backing);
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

static void free_slots(struct content *content)
{
	if (content->slots != content->first)
		free(content->slots);
}

static void free_content(struct node *n)
{
	backing_unref(n->content->backing);
	free_slots(n->content);
	free(n->content);
	n->content = NULL;
}

static bool grow(struct content *content)
{
	struct content grown = { .cap = 2 * content->cap };

	grown.slots = calloc(grown.cap, sizeof(struct chunk *));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < content->cap; i++)
		if (content->slots[i])
			grown.slots[slot_of(&grown, content->slots[i]->index)] = content->slots[i];
	free_slots(content);
	content->slots = grown.slots;
	content->cap = grown.cap;
	return true;
}

/* Makes room for one more chunk; at most half of the slots are taken. False: out of memory. */
static bool make_slot(struct node *n)
{
	if (n->content)
		return 2 * (n->content->count + 1) <= n->content->cap || grow(n->content);
	n->content = calloc(1, sizeof *n->content);
	if (!n->content)
		return false;
	n->content->slots = n->content->first;
	n->content->cap = ARRAY_LEN(n->content->first);
	return true;
}

/* Does a file of this size get a backing file? Then each chunk takes whole pages. */
static bool gets_backing(const struct chunks *c, uint64_t size)
{
	return size >= CHUNK_BYTES && size <= c->max_backing;
}

static size_t whole_pages(const struct chunks *c, size_t len)
{
	size_t page = slabs_page_bytes(c->slabs);

	return (len + page - 1) & ~(page - 1);
}

/* Under the lock of n, which has a free slot. False: out of memory. */
static bool allocate(struct chunks *c, const struct node *n, struct chunk *chunk, uint64_t size)
{
	struct content *content = n->content;

	if (!content->count && gets_backing(c, size))
		content->backing = backing_new(c->backings, size);
	if (content->backing && backing_size(content->backing) == size) {
		chunk->backing = backing_ref(content->backing);
		chunk->bytes = backing_at(chunk->backing, chunk->index * CHUNK_BYTES);
		return true;
	}
	if (!slabs_take(c->slabs, chunk->cap, &chunk->piece))
		return false;
	chunk->bytes = chunk->piece.bytes;
	return true;
}

struct chunk *chunks_add(struct chunks *c, struct node *n, uint64_t index, uint64_t size)
{
	struct chunk *chunk = calloc(1, sizeof *chunk);
	uint64_t left = size - index * CHUNK_BYTES;

	if (!chunk)
		return NULL;
	chunk->chunks = c;
	chunk->index = index;
	chunk->cap = (size_t)(left < CHUNK_BYTES ? left : CHUNK_BYTES);
	chunk->data_bytes = gets_backing(c, size) ? whole_pages(c, chunk->cap)
						  : slabs_round(c->slabs, chunk->cap);
	if (!usage_try_add(c->usage, USAGE_DATA, chunk_usage(chunk), c->limit)) {
		free(chunk);
		return NULL;
	}
	if (!make_slot(n) || !allocate(c, n, chunk, size)) {
		if (n->content && !n->content->count)
			free_content(n);
		usage_remove(c->usage, USAGE_DATA, chunk_usage(chunk));
		chunk_free(chunk);
		return NULL;
	}
	chunk->node = node_ref(n);
	chunk->readers = 1;
	chunk->born = atomic_fetch_add(&c->made, 1);
	n->content->slots[slot_of(n->content, index)] = chunk;
	n->content->count++;
	chunks_enqueue(c, chunk);
	return chunk;
}

void chunk_begin_read(struct chunk *chunk)
{
	atomic_fetch_add(&chunk->readers, 1);
	if (atomic_load_explicit(&chunk->chunks->made, memory_order_relaxed) - chunk->born > AGAIN)
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

/* How many bytes from the beginning of a page on are whole pages of zeros, or zeros up to the end.
 */
static size_t zeros_at(const struct chunk *chunk, size_t begin)
{
	size_t page = slabs_page_bytes(chunk->chunks->slabs), end = begin;

	while (end < chunk->len) {
		size_t n = chunk->len - end < page ? chunk->len - end : page;

		if (memcmp(chunk->bytes + end, chunk->chunks->zeros, n) != 0)
			break;
		end += n;
	}
	return end - begin;
}

static void forget(const struct chunk *chunk, size_t begin, size_t len)
{
	if (chunk->backing)
		backing_punch(chunk->backing, chunk->index * CHUNK_BYTES + begin, len);
	else
		blocks_discard(chunk->bytes + begin, len);
}

/* Gives long runs of zeros back; the pages of small pieces have parts of others. Returns the bytes.
 */
static size_t forget_zeros(const struct chunk *chunk)
{
	size_t page = slabs_page_bytes(chunk->chunks->slabs), sum = 0;

	for (size_t begin = 0, len; begin < chunk->len; begin += len ? len : page) {
		len = zeros_at(chunk, begin);
		if (len > SLAB_LARGE) {
			len = whole_pages(chunk->chunks, len);
			forget(chunk, begin, len);
			sum += len;
		}
	}
	return sum;
}

void chunk_filled(struct chunk *chunk, size_t len, bool is_hole)
{
	struct chunks *c = chunk->chunks;
	size_t freed;

	chunk->len = len;
	if (is_hole || zeros_at(chunk, 0) == len) {
		freed = chunk->data_bytes;
		if (chunk->backing)
			forget(chunk, 0, freed);
		free_bytes(chunk);
		chunk->bytes = c->zeros;
	} else {
		freed = forget_zeros(chunk);
	}
	if (freed)
		chunks_reduce(c, chunk, freed);
}

/* Under the node's lock: frees its slot, and moves up the chunks that it had displaced. False: it
 * has no slot. */
bool chunk_remove(struct chunk *chunk)
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

void chunk_remove_and_punch(struct chunk *chunk)
{
	if (chunk_remove(chunk) && chunk->backing)
		backing_punch(chunk->backing, chunk->index * CHUNK_BYTES,
			      whole_pages(chunk->chunks, chunk->cap));
}

void chunk_invalidate(struct chunk *chunk)
{
	chunk_remove_and_punch(chunk);
	atomic_store(&chunk->used, false);
}

bool chunks_pin(const struct node *n, struct chunks_pinned *ret)
{
	const struct content *content = n->content;
	uint64_t size = content && content->backing ? backing_size(content->backing) : 0;
	struct chunks_pinned pinned = { .backing = NULL };

	if (!size || content->count != (size + CHUNK_BYTES - 1) / CHUNK_BYTES)
		return false;
	for (size_t i = 0; i < content->cap; i++) {
		const struct chunk *chunk = content->slots[i];

		if (chunk && (chunk->inflight || chunk->backing != content->backing ||
			      chunk->data_bytes < chunk->cap))
			return false;
	}
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

void chunks_free(struct chunks *c)
{
	if (!c)
		return;
	chunks_free_all(c);
	slabs_free(c->slabs);
	if (c->zeros && c->zeros != MAP_FAILED)
		munmap(c->zeros, CHUNK_BYTES);
	backings_free(c->backings);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
