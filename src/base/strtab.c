/* SPDX-License-Identifier: MIT */
#include "base/strtab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* A chunk is twice as large as the one before it: most tables hold little. */
#define CHUNK_FIRST ((size_t)1024)
#define CHUNK_BYTES ((size_t)64 * 1024)

struct entry {
	const char *ptr; /* in a chunk */
	uint32_t len;    /* bytes */
	uint32_t hash;
};

struct chunk {
	struct chunk *next;
	size_t used, cap; /* bytes of data */
	char data[];
};

struct strtab {
	struct entry *entries; /* [count]; by id */
	uint32_t *slots;       /* [slot_cap]; id + 1, 0: free */
	struct chunk *chunks;  /* the first is the one being filled */
	size_t count, cap;
	size_t slot_cap; /* a power of two, at least 4/3 of count */
};

struct strtab *strtab_new(void)
{
	struct strtab *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->slot_cap = 64;
	t->slots = calloc(t->slot_cap, sizeof *t->slots);
	if (!t->slots) {
		free(t);
		return NULL;
	}
	return t;
}

void strtab_free(struct strtab *t)
{
	struct chunk *chunk, *next;

	if (!t)
		return;
	for (chunk = t->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(t->slots);
	free(t->entries);
	free(t);
}

static uint32_t *find_slot(const struct strtab *t, const void *bytes, size_t len, uint32_t hash)
{
	size_t mask = t->slot_cap - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		const struct entry *entry;

		if (!t->slots[i])
			return &t->slots[i];
		entry = &t->entries[t->slots[i] - 1];
		if (entry->hash == hash && entry->len == len &&
		    (!len || memcmp(entry->ptr, bytes, len) == 0))
			return &t->slots[i];
	}
}

static int grow_slots(struct strtab *t)
{
	size_t cap = t->slot_cap * 2, mask = cap - 1;
	uint32_t *slots = calloc(cap, sizeof *slots);

	if (!slots)
		return -1;
	for (size_t id = 0; id < t->count; id++) {
		size_t i = t->entries[id].hash & mask;

		while (slots[i])
			i = (i + 1) & mask;
		slots[i] = (uint32_t)id + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->slot_cap = cap;
	return 0;
}

static size_t chunk_cap(const struct chunk *last, size_t len)
{
	size_t cap = last ? 2 * last->cap : CHUNK_FIRST;

	if (cap > CHUNK_BYTES)
		cap = CHUNK_BYTES;
	return cap < len ? len : cap;
}

/* A chunk with room for len bytes. One large string gets a chunk of its own behind the newest,
 * which goes on being filled. */
static struct chunk *chunk_for(struct strtab *t, size_t len)
{
	bool is_large = len > CHUNK_BYTES / 4;
	struct chunk *chunk = t->chunks, **at;
	size_t cap = is_large ? len : chunk_cap(chunk, len);

	if (chunk && chunk->cap - chunk->used >= len)
		return chunk;
	at = is_large && chunk ? &chunk->next : &t->chunks;
	chunk = malloc(sizeof *chunk + cap);
	if (!chunk)
		return NULL;
	*chunk = (struct chunk){ .next = *at, .cap = cap };
	*at = chunk;
	return chunk;
}

static char *store(struct strtab *t, const void *bytes, size_t len)
{
	struct chunk *chunk = chunk_for(t, len + 1);
	char *at;

	if (!chunk)
		return NULL;
	at = chunk->data + chunk->used;
	if (len)
		memcpy(at, bytes, len);
	at[len] = '\0';
	chunk->used += len + 1;
	return at;
}

static int make_room(struct strtab *t)
{
	size_t cap = t->cap ? 2 * t->cap : 64;
	struct entry *entries;

	if (4 * (t->count + 1) > 3 * t->slot_cap && grow_slots(t) < 0)
		return -1;
	if (t->count < t->cap)
		return 0;
	entries = realloc(t->entries, cap * sizeof *entries);
	if (!entries)
		return -1;
	t->entries = entries;
	t->cap = cap;
	return 0;
}

uint32_t strtab_intern(struct strtab *t, const void *bytes, size_t len)
{
	uint32_t hash = (uint32_t)hash_bytes(bytes, len);
	uint32_t *slot = find_slot(t, bytes, len, hash);
	char *copy;

	if (*slot)
		return *slot - 1;
	if (len >= UINT32_MAX || t->count >= UINT32_MAX - 1 || make_room(t) < 0)
		return STRTAB_NONE;
	copy = store(t, bytes, len);
	if (!copy)
		return STRTAB_NONE;
	slot = find_slot(t, bytes, len, hash);
	t->entries[t->count] = (struct entry){ copy, (uint32_t)len, hash };
	*slot = (uint32_t)++t->count;
	return *slot - 1;
}

uint32_t strtab_find(const struct strtab *t, const void *bytes, size_t len)
{
	uint32_t *slot = find_slot(t, bytes, len, (uint32_t)hash_bytes(bytes, len));

	return *slot ? *slot - 1 : STRTAB_NONE;
}

struct str strtab_get(const struct strtab *t, uint32_t id)
{
	return (struct str){ t->entries[id].ptr, t->entries[id].len };
}

size_t strtab_count(const struct strtab *t)
{
	return t->count;
}
