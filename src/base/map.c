/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void map_fini(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}

void map_clear(struct map *m)
{
	if (m->slots)
		memset(m->slots, 0, m->cap * sizeof *m->slots);
	m->count = 0;
}

static struct map_slot *find_slot(struct map_slot *slots, size_t cap, uint64_t key)
{
	size_t mask = cap - 1;

	for (size_t i = hash_number(key) & mask;; i = (i + 1) & mask)
		if (!slots[i].used || slots[i].key == key)
			return &slots[i];
}

uint32_t map_get(const struct map *m, uint64_t key)
{
	const struct map_slot *slot;

	if (!m->count)
		return MAP_NONE;
	slot = find_slot(m->slots, m->cap, key);
	return slot->used ? slot->value : MAP_NONE;
}

static int grow(struct map *m)
{
	size_t cap = m->cap ? 2 * m->cap : 64;
	struct map_slot *slots = calloc(cap, sizeof *slots);

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].used)
			*find_slot(slots, cap, m->slots[i].key) = m->slots[i];
	free(m->slots);
	m->slots = slots;
	m->cap = cap;
	return 0;
}

uint32_t *map_at(struct map *m, uint64_t key)
{
	struct map_slot *slot;

	if (m->cap) {
		slot = find_slot(m->slots, m->cap, key);
		if (slot->used)
			return &slot->value;
	}
	if (4 * (m->count + 1) > 3 * m->cap && grow(m) < 0)
		return NULL;
	slot = find_slot(m->slots, m->cap, key);
	*slot = (struct map_slot){ .key = key, .value = MAP_NONE, .used = 1 };
	m->count++;
	return &slot->value;
}

int map_put(struct map *m, uint64_t key, uint32_t value)
{
	uint32_t *at = map_at(m, key);

	if (!at)
		return -ENOMEM;
	*at = value;
	return 0;
}
