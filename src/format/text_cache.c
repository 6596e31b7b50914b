/* SPDX-License-Identifier: MIT */
#include "format/text_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void text_cache_fini(struct text_cache *m)
{
	free(m->slots);
	*m = (struct text_cache){ 0 };
}

static uint64_t load(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof word);
	return word;
}

/* Two pairs of chains that do not wait for each other; both of a pair see every byte. */
struct chains {
	uint64_t a, b, c, d;
};

static void add_block(struct chains *h, const uint64_t k[4], const char *at)
{
	uint64_t w0 = load(at), w1 = load(at + 8), w2 = load(at + 16), w3 = load(at + 24);

	h->a = hash_mix(w0 ^ h->a, w1 ^ k[0]);
	h->b = hash_mix(w0 ^ k[1], w1 ^ h->b);
	h->c = hash_mix(w2 ^ h->c, w3 ^ k[2]);
	h->d = hash_mix(w2 ^ k[3], w3 ^ h->d);
}

struct text_cache_key text_cache_hash(const char *text, size_t len)
{
	const uint64_t *k = hash_secret()->words;
	struct chains h = { len ^ k[1], k[2], k[3], len ^ k[0] };
	char tail[32] = { 0 };

	for (; len >= sizeof tail; text += sizeof tail, len -= sizeof tail)
		add_block(&h, k, text);
	memcpy(tail, text, len);
	add_block(&h, k, tail);
	return (struct text_cache_key){
		.hash = hash_mix(h.a ^ k[1], h.c ^ k[0]),
		.check = (uint32_t)(hash_mix(h.b ^ k[2], h.d ^ k[3]) >> 32) | 1,
	};
}

static struct text_cache_slot *find_slot(struct text_cache_slot *slots, size_t cap,
					 struct text_cache_key key)
{
	size_t mask = cap - 1;

	for (size_t i = key.hash & mask;; i = (i + 1) & mask)
		if (!slots[i].check || (slots[i].hash == key.hash && slots[i].check == key.check))
			return &slots[i];
}

static int grow(struct text_cache *m)
{
	size_t cap = m->cap ? 2 * m->cap : 1024;
	struct text_cache_slot *slots = calloc(cap, sizeof *slots);

	if (!slots)
		return -1;
	for (size_t i = 0; i < m->cap; i++) {
		struct text_cache_key key = { m->slots[i].hash, m->slots[i].check };

		if (key.check)
			*find_slot(slots, cap, key) = m->slots[i];
	}
	free(m->slots);
	m->slots = slots;
	m->cap = cap;
	return 0;
}

void text_cache_prefetch(const struct text_cache *m, struct text_cache_key key)
{
	if (m->cap)
		__builtin_prefetch(&m->slots[key.hash & (m->cap - 1)]);
}

uint32_t *text_cache_at(struct text_cache *m, struct text_cache_key key)
{
	struct text_cache_slot *slot;

	if (4 * (m->count + 1) > 3 * m->cap && grow(m) < 0)
		return NULL;
	slot = find_slot(m->slots, m->cap, key);
	if (!slot->check) {
		*slot = (struct text_cache_slot){ key.hash, key.check, TEXT_CACHE_NEW };
		m->count++;
	}
	return &slot->value;
}
