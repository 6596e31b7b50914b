/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/clock.h"

struct hash_secret hash_secret_words;
_Atomic int hash_secret_is_set;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The next number of splitmix64. */
static uint64_t next_word(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void hash_secret_set(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM); /* 16 bytes */
	uint64_t seeds[2] = { (uint64_t)clock_mono_ns(), (uint64_t)(uintptr_t)&random };

	if (random)
		memcpy(seeds, random, sizeof seeds);
	pthread_mutex_lock(&lock);
	if (!atomic_load_explicit(&hash_secret_is_set, memory_order_relaxed)) {
		for (unsigned i = 0; i < 4; i++)
			hash_secret_words.words[i] = next_word(&seeds[i / 2]) | 1;
		atomic_store_explicit(&hash_secret_is_set, 1, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
}

static uint64_t load(const unsigned char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof word);
	return word;
}

uint64_t hash_bytes(const void *bytes, size_t len)
{
	const struct hash_secret *s = hash_secret();
	const unsigned char *at = bytes;
	unsigned char tail[16] = { 0 };
	uint64_t h = s->words[0] ^ len;

	for (; len > sizeof tail; at += sizeof tail, len -= sizeof tail)
		h = hash_mix(load(at) ^ s->words[1], load(at + 8) ^ h);
	if (len)
		memcpy(tail, at, len);
	h = hash_mix(load(tail) ^ s->words[1], load(tail + 8) ^ h);
	return hash_mix(h ^ s->words[2], s->words[3]);
}
