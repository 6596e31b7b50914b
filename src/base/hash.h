/* SPDX-License-Identifier: MIT */
/*
 * hash: hashes of bytes and numbers for tables in memory, with a secret of this process.
 *
 * Who writes a file cannot choose names that meet in one slot, because the secret differs from run
 * to run. So nothing that is shown or written may depend on a hash or on the order of slots.
 *
 * The secret is the kernel's AT_RANDOM. Any thread may hash at any time.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct hash_secret {
	uint64_t words[4]; /* odd */
};

extern struct hash_secret hash_secret_words; /* for hash_secret() alone */
extern _Atomic int hash_secret_is_set;
void hash_secret_set(void);

static inline const struct hash_secret *hash_secret(void)
{
	if (!atomic_load_explicit(&hash_secret_is_set, memory_order_acquire))
		hash_secret_set();
	return &hash_secret_words;
}

__extension__ typedef unsigned __int128 hash_uint128;

/* Both halves of the product: every bit of a and b reaches the middle. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	hash_uint128 product = (hash_uint128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_number(uint64_t number)
{
	const struct hash_secret *s = hash_secret();

	return hash_mix(hash_mix(number ^ s->words[0], s->words[1]) ^ s->words[2], s->words[3]);
}

uint64_t hash_bytes(const void *bytes, size_t len);

#endif
