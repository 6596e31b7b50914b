/* SPDX-License-Identifier: MIT */
#include "model/trie.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

#define FIRST_SLOTS 256

int trie_init(struct trie *t)
{
	t->cap = FIRST_SLOTS / 2;
	t->nodes = malloc(t->cap * sizeof *t->nodes);
	t->slot_cap = FIRST_SLOTS;
	t->slots = calloc(t->slot_cap, sizeof *t->slots);
	if (!t->nodes || !t->slots)
		return -ENOMEM;
	t->nodes[0] = (struct stack_node){ 0, 0 };
	t->count = 1;
	return 0;
}

void trie_fini(struct trie *t)
{
	free(t->nodes);
	free(t->slots);
	*t = (struct trie){ 0 };
}

static size_t first_slot(const struct trie *t, uint32_t parent, uint32_t location)
{
	return (size_t)hash_number((uint64_t)parent << 32 | location) & (t->slot_cap - 1);
}

static uint32_t *find_slot(const struct trie *t, uint32_t parent, uint32_t location)
{
	for (size_t i = first_slot(t, parent, location);; i = (i + 1) & (t->slot_cap - 1)) {
		const struct stack_node *node = &t->nodes[t->slots[i]];

		if (!t->slots[i] || (node->parent == parent && node->location == location))
			return &t->slots[i];
	}
}

static int grow_slots(struct trie *t)
{
	size_t cap = 2 * t->slot_cap;
	uint32_t *slots = calloc(cap, sizeof *slots);

	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->slot_cap = cap;
	for (uint32_t id = 1; id < t->count; id++) {
		size_t i = first_slot(t, t->nodes[id].parent, t->nodes[id].location);

		while (t->slots[i])
			i = (i + 1) & (cap - 1);
		t->slots[i] = id;
	}
	return 0;
}

static int make_room(struct trie *t)
{
	size_t cap = t->cap + t->cap / 2;
	struct stack_node *nodes;

	if (t->count >= TRIE_NONE - 1)
		return -ENOMEM;
	if (4 * (t->count + 1) > 3 * t->slot_cap && grow_slots(t) < 0)
		return -ENOMEM;
	if (t->count < t->cap)
		return 0;
	nodes = reallocarray(t->nodes, cap, sizeof *nodes);
	if (!nodes)
		return -ENOMEM;
	t->nodes = nodes;
	t->cap = cap;
	return 0;
}

void trie_prepare(const struct trie *t, uint32_t parent, uint32_t location)
{
	__builtin_prefetch(&t->slots[first_slot(t, parent, location)]);
}

uint32_t trie_push(struct trie *t, uint32_t parent, uint32_t location)
{
	uint32_t id = *find_slot(t, parent, location);

	if (id)
		return id;
	if (make_room(t) < 0)
		return TRIE_NONE;
	id = (uint32_t)t->count++;
	*find_slot(t, parent, location) = id;
	t->nodes[id] = (struct stack_node){ parent, location };
	return id;
}
