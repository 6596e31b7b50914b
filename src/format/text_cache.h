/* SPDX-License-Identifier: MIT */
/*
 * text_cache: maps texts to the 32-bit values they got at first sight.
 *
 * A key is 96 bits of hash; the text is not kept, so a lookup is one access to memory. By chance,
 * two of ten million texts collide in one run of 10^14. The hash has a secret of this process, so
 * a file cannot be forged to collide.
 */
#ifndef FORMAT_TEXT_CACHE_H
#define FORMAT_TEXT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define TEXT_CACHE_NEW UINT32_MAX /* the value of a text that was never seen */

struct text_cache_key {
	uint64_t hash;
	uint32_t check; /* never 0 */
};

struct text_cache_slot {
	uint64_t hash;
	uint32_t check; /* 0: free */
	uint32_t value;
};

/* All zero is a valid empty cache. */
struct text_cache {
	struct text_cache_slot *slots; /* [cap]; owned */
	size_t count, cap;             /* cap: 0 or a power of two */
};

void text_cache_fini(struct text_cache *m);

struct text_cache_key text_cache_hash(const char *text, size_t len);

/* Prefetches the memory that text_cache_at() will read. */
void text_cache_prefetch(const struct text_cache *m, struct text_cache_key key);

/* Where the value is; valid until the next call. NULL: out of memory. */
uint32_t *text_cache_at(struct text_cache *m, struct text_cache_key key);

#endif
