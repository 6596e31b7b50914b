/* SPDX-License-Identifier: MIT */
#include "preload/heap/trie.h"

#include <string.h>

#include "preload/heap/file.h"
#include "preload/heap/pages.h"
#include "preload/heap/spin.h"

#define SLOTS_AT_FIRST 1024

/* Numbers of items by hash, open addressing; 0: free. */
struct slots {
	uint32_t mask;
	uint32_t numbers[];
};

/* A table that is outgrown stays mapped: another thread may be looking into it. All of them
 * together are smaller than the last one. */
struct table {
	struct slots *slots; /* NULL: none yet; atomic */
	uint32_t count;      /* under lock */
};

static struct table nodes, sites;

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);

	return h ^ h >> 32;
}

static size_t slots_bytes(uint32_t mask)
{
	return sizeof(struct slots) + ((size_t)mask + 1) * sizeof(uint32_t);
}

static uint64_t hash_node(uint32_t parent, uint64_t address, uint32_t mapping)
{
	return mix(address, (uint64_t)parent << 32 | mapping);
}

static uint32_t find_node(uint64_t hash, uint32_t parent, uint64_t address, uint32_t mapping)
{
	const struct slots *s = __atomic_load_n(&nodes.slots, __ATOMIC_ACQUIRE);
	uint32_t number;

	if (!s)
		return 0;
	for (uint64_t i = hash;; i++) {
		const struct heap_node *node;

		number = __atomic_load_n(&s->numbers[i & s->mask], __ATOMIC_ACQUIRE);
		if (!number)
			return 0;
		node = file_node(number);
		if (node->address == address && node->parent == parent && node->mapping == mapping)
			return number;
	}
}

static uint32_t find_site(uint64_t hash, uint32_t node, uint32_t shard)
{
	const struct slots *s = __atomic_load_n(&sites.slots, __ATOMIC_ACQUIRE);
	uint32_t number;

	if (!s)
		return 0;
	for (uint64_t i = hash;; i++) {
		const struct heap_site *site;

		number = __atomic_load_n(&s->numbers[i & s->mask], __ATOMIC_ACQUIRE);
		if (!number)
			return 0;
		site = file_site(heap_file.site_base + number);
		if (site->node == node && site->shard == shard)
			return number;
	}
}

static uint64_t hash_of_number(const struct table *t, uint32_t number)
{
	if (t == &nodes) {
		const struct heap_node *node = file_node(number);

		return hash_node(node->parent, node->address, node->mapping);
	}
	const struct heap_site *site = file_site(heap_file.site_base + number);

	return mix(site->node, site->shard);
}

static void put(struct slots *s, uint64_t hash, uint32_t number)
{
	while (s->numbers[hash & s->mask])
		hash++;
	__atomic_store_n(&s->numbers[hash & s->mask], number, __ATOMIC_RELEASE);
}

/* Room for one more, under lock. */
static bool make_room(struct table *t)
{
	struct slots *old = t->slots, *s;
	uint32_t mask = old ? old->mask * 2 + 1 : SLOTS_AT_FIRST - 1;

	if (old && t->count < old->mask / 4 * 3)
		return true;
	s = pages_new(slots_bytes(mask));
	if (!s)
		return false;
	s->mask = mask;
	for (uint32_t i = 0; old && i <= old->mask; i++)
		if (old->numbers[i])
			put(s, hash_of_number(t, old->numbers[i]), old->numbers[i]);
	__atomic_store_n(&t->slots, s, __ATOMIC_RELEASE);
	return true;
}

static uint32_t add_node(uint64_t hash, uint32_t parent, uint64_t address, uint32_t mapping)
{
	struct heap_header *h = file_header();
	uint32_t number = h->node_count;
	struct heap_node *node = file_reserve(HEAP_NODES, number, HEAP_NODES_A_CHUNK, sizeof *node);

	if (!node || !make_room(&nodes))
		return TRIE_FULL;
	*node = (struct heap_node){ .address = address, .parent = parent, .mapping = mapping };
	__atomic_store_n(&h->node_count, number + 1, __ATOMIC_RELEASE);
	put(nodes.slots, hash, number);
	nodes.count++;
	return number;
}

uint32_t trie_child(uint32_t parent, uint64_t address, uint32_t mapping)
{
	uint64_t hash = hash_node(parent, address, mapping);
	uint32_t number;

	if (parent == TRIE_FULL)
		return TRIE_FULL;
	number = find_node(hash, parent, address, mapping);
	if (number)
		return number;
	spin_lock(&heap_file.lock);
	number = find_node(hash, parent, address, mapping);
	if (!number)
		number = add_node(hash, parent, address, mapping);
	spin_unlock(&heap_file.lock);
	return number;
}

static uint32_t add_site(uint64_t hash, uint32_t node, uint32_t shard)
{
	struct heap_header *h = file_header();
	uint32_t number = h->site_count;
	struct heap_site *site;

	if (heap_file.site_base + number >= TRIE_SITES_MAX)
		return 0;
	site = file_reserve(HEAP_SITES, number, HEAP_SITES_A_CHUNK, sizeof *site);
	if (!site || !make_room(&sites))
		return 0;
	site->node = node;
	site->shard = shard;
	__atomic_store_n(&h->site_count, number + 1, __ATOMIC_RELEASE);
	put(sites.slots, hash, number);
	sites.count++;
	return number;
}

uint32_t trie_site(uint32_t node, uint32_t shard)
{
	uint64_t hash = mix(node, shard);
	uint32_t number;

	if (node == TRIE_FULL || node == 0)
		return heap_file.site_base;
	number = find_site(hash, node, shard);
	if (number)
		return heap_file.site_base + number;
	spin_lock(&heap_file.lock);
	number = find_site(hash, node, shard);
	if (!number)
		number = add_site(hash, node, shard);
	spin_unlock(&heap_file.lock);
	return heap_file.site_base + number;
}

static void forget(struct table *t)
{
	if (t->slots)
		pages_free(t->slots, slots_bytes(t->slots->mask));
	*t = (struct table){ 0 };
}

uint32_t trie_forget(void)
{
	uint32_t next = heap_file.site_base + sites.count + 1; /* and the root's */

	forget(&nodes);
	forget(&sites);
	return next;
}
