/* SPDX-License-Identifier: MIT */
#include "model/trie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINES 32
#define NEIGHBOURS_BITS 2 /* parents that share a line, as a power of two */

/* A line of the cache, on all machines that we know. */
_Static_assert(sizeof(struct trie_line) == 64, "a line of slots is a line of the cache");

static struct trie_line *make_lines(size_t count)
{
	struct trie_line *lines = aligned_alloc(sizeof *lines, count * sizeof *lines);

	if (lines)
		memset(lines, 0, count * sizeof *lines);
	return lines;
}

int trie_init(struct trie *t)
{
	t->cap = 64;
	t->nodes = malloc(t->cap * sizeof *t->nodes);
	t->line_count = FIRST_LINES;
	t->lines = make_lines(t->line_count);
	if (!t->nodes || !t->lines)
		return -ENOMEM;
	t->nodes[0] = (struct stack_node){ 0, 0 };
	t->count = 1;
	return 0;
}

void trie_fini(struct trie *t)
{
	free(t->nodes);
	free(t->lines);
	*t = (struct trie){ 0 };
}

/* The finaliser of splitmix64. */
static uint64_t mix(uint64_t key)
{
	key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
	return key ^ key >> 31;
}

static size_t line_of_parent(const struct trie *t, uint32_t parent)
{
	return (size_t)mix(parent >> NEIGHBOURS_BITS) & (t->line_count - 1);
}

/* In one line: the slot of the key, or the free one for it; NULL: neither. */
static struct trie_slot *find_in_line(const struct trie *t, size_t line, uint32_t parent,
				      uint32_t location, uint32_t tag)
{
	struct trie_slot *slots = t->lines[line].slots;

	for (size_t i = 0; i < TRIE_LINE_SLOTS; i++) {
		const struct stack_node *node;

		if (!slots[i].node)
			return &slots[i];
		if (slots[i].tag != tag)
			continue;
		node = &t->nodes[slots[i].node];
		if (node->parent == parent && node->location == location)
			return &slots[i];
	}
	return NULL;
}

/* The line of the parent first; when it is full, on from a line of the whole key. */
static struct trie_slot *find_slot(const struct trie *t, uint32_t parent, uint32_t location,
				   uint32_t *ret_tag)
{
	uint64_t hash = mix((uint64_t)parent << 32 | location);
	uint32_t tag = (uint32_t)(hash >> 32);
	struct trie_slot *slot = find_in_line(t, line_of_parent(t, parent), parent, location, tag);

	for (size_t line = (size_t)hash; !slot; line++)
		slot = find_in_line(t, line & (t->line_count - 1), parent, location, tag);
	*ret_tag = tag;
	return slot;
}

static int grow_lines(struct trie *t)
{
	struct trie_line *old = t->lines, *lines = make_lines(2 * t->line_count);

	if (!lines)
		return -ENOMEM;
	t->lines = lines;
	t->line_count *= 2;
	for (uint32_t id = 1; id < t->count; id++) {
		uint32_t tag;
		struct trie_slot *slot =
			find_slot(t, t->nodes[id].parent, t->nodes[id].location, &tag);

		*slot = (struct trie_slot){ id, tag };
	}
	free(old);
	return 0;
}

static int make_room(struct trie *t)
{
	size_t cap = t->cap + t->cap / 2;
	struct stack_node *nodes;

	if (t->count >= TRIE_NONE - 1)
		return -ENOMEM;
	if (2 * (t->count + 1) > t->line_count * TRIE_LINE_SLOTS && grow_lines(t) < 0)
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

uint32_t trie_push(struct trie *t, uint32_t parent, uint32_t location)
{
	uint32_t tag, id = find_slot(t, parent, location, &tag)->node;

	if (id)
		return id;
	if (make_room(t) < 0)
		return TRIE_NONE;
	id = (uint32_t)t->count;
	*find_slot(t, parent, location, &tag) = (struct trie_slot){ id, tag };
	t->nodes[t->count++] = (struct stack_node){ parent, location };
	return id;
}
