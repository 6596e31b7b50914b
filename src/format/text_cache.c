/* SPDX-License-Identifier: MIT */
#include "format/text_cache.h"

#include <stdlib.h>
#include <string.h>

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

__extension__ typedef unsigned __int128 uint128;

/* Both halves of the product: every bit of a and b reaches the middle. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	uint128 product = (uint128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Odd numbers without a pattern: of the golden ratio, of splitmix64 and MurmurHash3. */
static const uint64_t k0 = UINT64_C(0x9e3779b97f4a7c15), k1 = UINT64_C(0xbf58476d1ce4e5b9),
		      k2 = UINT64_C(0x94d049bb133111eb), k3 = UINT64_C(0xff51afd7ed558ccd);

/* Two pairs of chains that do not wait for each other; both of a pair see every byte. */
struct chains {
	uint64_t a, b, c, d;
};

static void add_block(struct chains *h, const char *at)
{
	uint64_t w0 = load(at), w1 = load(at + 8), w2 = load(at + 16), w3 = load(at + 24);

	h->a = mix(w0 ^ h->a, w1 ^ k0);
	h->b = mix(w0 ^ k1, w1 ^ h->b);
	h->c = mix(w2 ^ h->c, w3 ^ k2);
	h->d = mix(w2 ^ k3, w3 ^ h->d);
}

struct text_cache_key text_cache_hash(const char *text, size_t len)
{
	struct chains h = { len, k2, k3, len };
	char tail[32] = { 0 };

	for (; len >= sizeof tail; text += sizeof tail, len -= sizeof tail)
		add_block(&h, text);
	memcpy(tail, text, len);
	add_block(&h, tail);
	return (struct text_cache_key){
		.hash = mix(h.a ^ k1, h.c ^ k0),
		.check = (uint32_t)(mix(h.b ^ k2, h.d ^ k3) >> 32) | 1,
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
