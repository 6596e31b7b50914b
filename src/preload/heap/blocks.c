/* SPDX-License-Identifier: MIT */
#include "preload/heap/blocks.h"

#include <stddef.h>

#include "preload/heap/pages.h"
#include "preload/heap/small_blocks.h"
#include "preload/heap/spin.h"
#include "preload/heap/thread.h"

#define SHARD_COUNT 64
#define SHARD_SHIFT 20 /* addresses of 1 MiB are in one table */
#define REGION_SHIFT 8 /* addresses of 256 bytes are in one bucket, if it has room for them */
#define BUCKET 8       /* entries */
#define BUCKETS_AT_FIRST 32
#define FAR_MAX 32 /* buckets behind its own that a block may be in */
#define LOAD_NUM 3 /* at most 3 / 4 of the entries are in use */
#define LOAD_DEN 4
#define WEIGHT_BITS 19
#define SIZE_BITS 40

/* key 0: free. */
struct entry {
	uint64_t key;   /* address / 8 << 19 | weight */
	uint64_t value; /* site << 40 | size */
};

struct shard {
	_Alignas(64) uint32_t lock;
	uint32_t buckets; /* 0: no table yet */
	size_t count;
	struct entry *entries; /* [buckets * BUCKET] */
	uint8_t *strays;       /* [buckets] blocks of it in buckets behind; 255: or more */
};

static struct shard shards[SHARD_COUNT];

/* A thread that forks has all of them; other handlers of pthread_atfork() may allocate. */
static inline void lock(struct shard *s)
{
	if (__builtin_expect(!thread_tls.is_forking, 1))
		spin_lock(&s->lock);
}

static inline void unlock(struct shard *s)
{
	if (__builtin_expect(!thread_tls.is_forking, 1))
		spin_unlock(&s->lock);
}

static uint64_t mix(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15);
	return value ^ value >> 29;
}

static struct shard *shard_of(uint64_t address)
{
	return &shards[(mix(address >> SHARD_SHIFT) >> 40) % SHARD_COUNT];
}

static uint32_t bucket_of(const struct shard *s, uint64_t address)
{
	return (uint32_t)((mix(address >> REGION_SHIFT) & UINT32_MAX) * s->buckets >> 32);
}

/* Where a block goes if nothing is there. */
static struct entry *place_of(const struct shard *s, uint32_t bucket, uint64_t address)
{
	return &s->entries[(size_t)bucket * BUCKET + (address >> 5 & (BUCKET - 1))];
}

static uint64_t address_of(const struct entry *e)
{
	return e->key >> WEIGHT_BITS << 3;
}

static struct entry pack(uint64_t address, const struct block *b)
{
	return (struct entry){ .key = address >> 3 << WEIGHT_BITS | b->weight,
			       .value = (uint64_t)b->site << SIZE_BITS | b->size };
}

static struct block unpack(const struct entry *e)
{
	return (struct block){ .size = e->value & BLOCK_SIZE_MAX,
			       .site = (uint32_t)(e->value >> SIZE_BITS),
			       .weight = (uint32_t)e->key & BLOCK_WEIGHT_MAX };
}

static struct entry *find_in(const struct shard *s, uint32_t bucket, uint64_t address)
{
	struct entry *e = &s->entries[(size_t)bucket * BUCKET];

	for (int i = 0; i < BUCKET; i++)
		if (address_of(&e[i]) == address)
			return &e[i];
	return NULL;
}

static uint32_t behind(const struct shard *s, uint32_t bucket, uint32_t distance)
{
	return (uint32_t)(((uint64_t)bucket + distance) % s->buckets);
}

/* NULL: it is not there. address 0: any free entry. */
static __attribute__((noinline)) struct entry *search(const struct shard *s, uint32_t bucket,
						      uint64_t address)
{
	uint32_t far = address == 0 || s->strays[bucket] ? FAR_MAX : 0;
	struct entry *e = NULL;

	for (uint32_t i = 0; i <= far && !e; i++)
		e = find_in(s, behind(s, bucket, i), address);
	return e;
}

static bool is_in(const struct shard *s, uint32_t bucket, const struct entry *e)
{
	return (size_t)(e - s->entries) / BUCKET == bucket;
}

/* false: there is no room near. */
static bool place(struct shard *s, uint64_t address, struct entry entry)
{
	uint32_t bucket = bucket_of(s, address);
	struct entry *e = place_of(s, bucket, address);

	if (e->key)
		e = search(s, bucket, 0);
	if (!e)
		return false;
	*e = entry;
	if (!is_in(s, bucket, e) && s->strays[bucket] < UINT8_MAX)
		s->strays[bucket]++;
	return true;
}

static size_t table_bytes(uint32_t buckets)
{
	return (size_t)buckets * (BUCKET * sizeof(struct entry) + 1);
}

static bool make_table(struct shard *s, uint32_t buckets)
{
	s->entries = pages_new(table_bytes(buckets));
	s->strays = (uint8_t *)(s->entries + (size_t)buckets * BUCKET);
	s->buckets = buckets;
	return s->entries != NULL;
}

static bool copy_all(struct shard *to, const struct shard *from)
{
	for (size_t i = 0; i < (size_t)from->buckets * BUCKET; i++)
		if (from->entries[i].key &&
		    !place(to, address_of(&from->entries[i]), from->entries[i]))
			return false;
	return true;
}

static __attribute__((noinline)) bool grow(struct shard *s)
{
	uint32_t buckets = s->buckets ? s->buckets : BUCKETS_AT_FIRST * 3 / 4;
	struct shard grown = { .lock = s->lock, .count = s->count };

	for (;;) {
		buckets += buckets / 3;
		if (!make_table(&grown, buckets))
			return false;
		if (copy_all(&grown, s))
			break;
		pages_free(grown.entries, table_bytes(buckets));
	}
	if (s->entries)
		pages_free(s->entries, table_bytes(s->buckets));
	s->buckets = grown.buckets;
	s->entries = grown.entries;
	s->strays = grown.strays;
	return true;
}

static inline bool has_room(const struct shard *s)
{
	return s->count < (size_t)s->buckets * BUCKET / LOAD_DEN * LOAD_NUM;
}

/* An entry that is where it goes was not removed, because its end was not seen. Another one that
 * is elsewhere stays: it is found when its address is freed twice. */
static bool put(struct shard *s, uint64_t address, struct entry entry, struct block *ret_old)
{
	struct entry *e;

	if (!has_room(s) && !grow(s))
		return false;
	e = place_of(s, bucket_of(s, address), address);
	if (__builtin_expect(!e->key, 1)) {
		*e = entry;
		s->count++;
		return false;
	}
	e = address_of(e) == address ? e : search(s, bucket_of(s, address), address);
	if (e) {
		*ret_old = unpack(e);
		*e = entry;
		return true;
	}
	while (!place(s, address, entry))
		if (!grow(s))
			return false;
	s->count++;
	return false;
}

enum placed { NOT_PLACED, PLACED, REPLACED };

static inline enum placed put_small(uint64_t address, const struct block *b, struct block *ret_old)
{
	uint32_t *word = small_find(address), old;

	if (__builtin_expect(!word, 0)) {
		word = small_make(address);
		if (!word)
			return NOT_PLACED;
	}
	old = __atomic_load_n(word, __ATOMIC_RELAXED);
	if (old && !small_is_at(old, address))
		return NOT_PLACED;
	__atomic_store_n(word, small_pack(address, b->site, (uint32_t)b->size), __ATOMIC_RELAXED);
	if (!old)
		return PLACED;
	*ret_old = (struct block){ .size = old & SMALL_SIZE_MAX, .site = old >> 10, .weight = 1 };
	return REPLACED;
}

static inline bool is_small(const struct block *b)
{
	return b->size <= SMALL_SIZE_MAX && b->weight == 1 && b->site <= SMALL_SITE_MAX && b->site;
}

bool blocks_put(const void *address, const struct block *block, struct block *ret_old)
{
	struct shard *s;
	bool had;

	if (is_small(block)) {
		enum placed placed = put_small((uintptr_t)address, block, ret_old);

		if (placed != NOT_PLACED)
			return placed == REPLACED;
	}
	s = shard_of((uintptr_t)address);
	lock(s);
	had = put(s, (uintptr_t)address, pack((uintptr_t)address, block), ret_old);
	unlock(s);
	return had;
}

static inline bool take_small(uint64_t address, struct block *ret)
{
	uint32_t *word = small_find(address), old;

	if (!word)
		return false;
	old = __atomic_load_n(word, __ATOMIC_RELAXED);
	if (!small_is_at(old, address))
		return false;
	__atomic_store_n(word, 0, __ATOMIC_RELAXED);
	*ret = (struct block){ .size = old & SMALL_SIZE_MAX, .site = old >> 10, .weight = 1 };
	return true;
}

static bool take(struct shard *s, uint64_t address, struct block *ret)
{
	uint32_t bucket = bucket_of(s, address);
	struct entry *e = place_of(s, bucket, address);

	if (__builtin_expect(address_of(e) != address, 0))
		e = search(s, bucket, address);
	if (!e)
		return false;
	*ret = unpack(e);
	e->key = 0;
	s->count--;
	if (!is_in(s, bucket, e) && s->strays[bucket] < UINT8_MAX)
		s->strays[bucket]--;
	return true;
}

bool blocks_take(const void *address, struct block *ret)
{
	struct shard *s;
	bool had;

	if (take_small((uintptr_t)address, ret))
		return true;
	s = shard_of((uintptr_t)address);
	lock(s);
	had = s->buckets && take(s, (uintptr_t)address, ret);
	unlock(s);
	return had;
}

void blocks_lock_all(void)
{
	for (size_t i = 0; i < SHARD_COUNT; i++)
		spin_lock(&shards[i].lock);
}

void blocks_unlock_all(void)
{
	for (size_t i = 0; i < SHARD_COUNT; i++)
		spin_unlock(&shards[i].lock);
}

void blocks_repair(void)
{
	for (size_t i = 0; i < SHARD_COUNT; i++)
		if (shards[i].lock)
			shards[i] = (struct shard){ 0 };
}

void blocks_release(void)
{
	for (size_t i = 0; i < SHARD_COUNT; i++) {
		if (shards[i].entries)
			pages_free(shards[i].entries, table_bytes(shards[i].buckets));
		shards[i] = (struct shard){ 0 };
	}
	small_release();
}
