/* SPDX-License-Identifier: MIT */
#include "preload/heap/account.h"

#include "preload/heap/capture.h"
#include "preload/heap/file.h"
#include "preload/heap/python.h"
#include "preload/heap/sample.h"
#include "preload/heap/spin.h"
#include "preload/heap/trie.h"

#define FLUSH_BYTES 65536 /* that a thread may have changed before the process' number follows */

struct account_options account_options;

static uint32_t live_lock;  /* of the header's live, peak, peak_no, is_peaking */
static uint32_t order_lock; /* of all events, if is_exact */

static void lock_order(void)
{
	if (account_options.is_exact)
		spin_lock(&order_lock);
}

static void unlock_order(void)
{
	if (account_options.is_exact)
		spin_unlock(&order_lock);
}

/* With one thread, nobody looks at the lock. */
static inline void lock_site(struct heap_site *s)
{
	if (!spin_is_single())
		spin_lock(&s->lock);
}

static inline void unlock_site(struct heap_site *s)
{
	if (!spin_is_single())
		spin_unlock(&s->lock);
}

/* Before what ends the peak changes a site: sites that see a new peak_no know what they had. */
static void fall(struct heap_header *h)
{
	if (!h->is_peaking)
		return;
	h->is_peaking = 0;
	__atomic_store_n(&h->peak_no, h->peak_no + 1, __ATOMIC_RELAXED);
}

static void rise(struct heap_header *h)
{
	if (h->live <= h->peak)
		return;
	h->peak = h->live;
	h->is_peaking = 1;
}

/* With live_lock. */
static void flush_locked(struct heap_header *h, struct thread *t)
{
	if (t->pending < 0)
		fall(h);
	h->live += t->pending;
	t->pending = 0;
	rise(h);
}

static void flush(struct heap_header *h, struct thread *t)
{
	spin_lock(&live_lock);
	flush_locked(h, t);
	spin_unlock(&live_lock);
}

void account_flush(struct thread *t)
{
	if (t->pending)
		flush(file_header(), t);
}

/* With one thread so far, or in order, the process' number follows each event. */
static inline bool is_immediate(const struct heap_header *h)
{
	return account_options.is_exact || __atomic_load_n(&h->threads, __ATOMIC_RELAXED) == 1;
}

static inline void change_live(struct heap_header *h, struct thread *t, int64_t bytes)
{
	t->pending += bytes;
	if (t->pending >= FLUSH_BYTES || t->pending <= -FLUSH_BYTES)
		flush(h, t);
}

/* What the site had when the last peak ended, if that was since its last event. */
static inline void see_peak(const struct heap_header *h, struct heap_site *s)
{
	uint64_t now = __atomic_load_n(&h->peak_no, __ATOMIC_RELAXED);

	if (s->peak_no == now)
		return;
	s->peak_objects = (int64_t)(s->alloc_objects - s->free_objects);
	s->peak_bytes = (int64_t)(s->alloc_bytes - s->free_bytes);
	s->peak_no = now;
}

/* What comes to a site, or ends there. */
struct amount {
	uint32_t site;
	uint64_t objects, bytes;
};

static struct amount amount_of(const struct block *b)
{
	return (struct amount){ b->site, b->weight, b->size * b->weight };
}

static void count_made(const struct heap_header *h, const struct amount *a, bool is_move)
{
	struct heap_site *s = file_site(a->site);

	lock_site(s);
	see_peak(h, s);
	s->alloc_objects += a->objects;
	s->alloc_bytes += a->bytes;
	s->realloc_moves += is_move;
	unlock_site(s);
}

static void count_freed(const struct heap_header *h, const struct amount *a, bool is_temporary)
{
	struct heap_site *s = file_site(a->site);

	lock_site(s);
	see_peak(h, s);
	s->free_objects += a->objects;
	s->free_bytes += a->bytes;
	if (is_temporary) {
		s->temporary_objects += a->objects;
		s->temporary_bytes += a->bytes;
	}
	unlock_site(s);
}

static void add_made(struct thread *t, const struct amount *a, bool is_move)
{
	struct heap_header *h = file_header();

	lock_order();
	count_made(h, a, is_move);
	if (is_immediate(h)) {
		h->live += (int64_t)a->bytes;
		rise(h);
	} else {
		change_live(h, t, (int64_t)a->bytes);
	}
	unlock_order();
}

/*
 * A block that is larger than what a thread may keep for itself, or of no thread: the peak ends
 * before its site counts the free, or the site would have had no such block at the peak.
 */
static void add_freed_now(struct heap_header *h, struct thread *t, const struct amount *a,
			  bool is_temporary)
{
	spin_lock(&live_lock);
	if (t)
		flush_locked(h, t);
	fall(h);
	count_freed(h, a, is_temporary);
	h->live -= (int64_t)a->bytes;
	spin_unlock(&live_lock);
}

static void add_freed(struct thread *t, const struct amount *a, bool is_temporary)
{
	struct heap_header *h = file_header();

	if (a->site < heap_file.site_base) {
		if (a->objects)
			file_count(&h->inherited_frees);
		return;
	}
	lock_order();
	if (is_immediate(h)) {
		fall(h);
		count_freed(h, a, is_temporary);
		h->live -= (int64_t)a->bytes;
	} else if (t && a->bytes < FLUSH_BYTES) {
		count_freed(h, a, is_temporary);
		change_live(h, t, -(int64_t)a->bytes);
	} else {
		add_freed_now(h, t, a, is_temporary);
	}
	unlock_order();
}

static void add_freed_block(struct thread *t, const struct block *b, bool is_temporary)
{
	const struct amount a = amount_of(b);

	add_freed(t, &a, is_temporary);
}

static uint32_t site_of(struct thread *t, uint32_t node)
{
	struct kept_site *kept = &t->sites[node % SITES_KEPT];

	if (__builtin_expect(kept->node == node && node != 0, 1))
		return kept->site;
	kept->site = trie_site(node, t->shard);
	kept->node = node;
	return kept->site;
}

static void put(struct thread *t, const void *block, const struct block *b, bool is_move)
{
	const struct amount a = amount_of(b);
	struct block old;

	/* Freed where no hook was: the end of it is not known, but that it is gone. */
	if (blocks_put(block, b, &old))
		add_freed_block(t, &old, false);
	add_made(t, &a, is_move);
}

static inline uint32_t site_of_caller(struct thread *t, const uint64_t *frame)
{
	return site_of(t, python_extend(t, capture_stack(t, frame)));
}

static inline void describe(struct thread *t, size_t size, uint32_t weight, const uint64_t *frame,
			    struct block *ret)
{
	ret->size = size < BLOCK_SIZE_MAX ? size : BLOCK_SIZE_MAX;
	ret->site = site_of_caller(t, frame);
	ret->weight = weight;
}

void account_made(struct thread *t, const void *block, size_t size, const uint64_t *frame)
{
	uint32_t weight = 1;
	struct block b;

	if (account_options.period) {
		weight = sample_weight(t, size, account_options.period);
		if (weight == 0)
			return;
	}
	describe(t, size, weight, frame, &b);
	put(t, block, &b, false);
	t->recent[1] = t->recent[0];
	t->recent[0] = block;
}

static bool take_recent(struct thread *t, const void *block)
{
	for (int i = 0; t && i < 2; i++) {
		if (t->recent[i] == block) {
			t->recent[i] = NULL;
			return true;
		}
	}
	return false;
}

void account_freed(struct thread *t, const void *block)
{
	struct block b;

	if (blocks_take(block, &b))
		add_freed_block(t, &b, take_recent(t, block));
	else if (!account_options.period)
		file_count(&file_header()->unknown_frees);
}

bool account_take(const void *block, struct block *ret)
{
	return blocks_take(block, ret);
}

void account_put_back(const void *block, const struct block *old)
{
	struct block ignored;

	blocks_put(block, old, &ignored);
}

/* A block that grows is one block: that it moved makes it no temporary one. */
void account_moved(struct thread *t, const struct block *old, const void *old_address,
		   const void *block, size_t size, const uint64_t *frame)
{
	bool is_move = block != old_address, was_recent;
	uint32_t weight = 1;
	struct block b;

	if (account_options.period)
		weight = sample_weight(t, size, account_options.period);
	if (old->weight)
		add_freed_block(t, old, false);
	was_recent = take_recent(t, old_address);
	if (weight == 0)
		return;
	describe(t, size, weight, frame, &b);
	put(t, block, &b, is_move);
	if (!was_recent || t->recent[0])
		t->recent[1] = t->recent[0];
	t->recent[0] = block;
}

uint32_t account_mapped(struct thread *t, uint64_t address, uint64_t bytes, const uint64_t *frame,
			bool is_move)
{
	const struct amount a = { site_of_caller(t, frame), 1, bytes };

	add_made(t, &a, is_move);
	t->recent[1] = t->recent[0];
	t->recent[0] = is_move ? NULL : (const void *)(uintptr_t)address;
	return a.site;
}

void account_unmapped(struct thread *t, uint64_t address, uint32_t site, uint64_t objects,
		      uint64_t bytes)
{
	const struct amount a = { site, objects, bytes };
	bool is_recent = address && objects && take_recent(t, (const void *)(uintptr_t)address);

	add_freed(t, &a, is_recent);
}

void account_miss(void)
{
	file_count(&file_header()->missed);
}

void account_forget(void)
{
	live_lock = order_lock = 0;
}
