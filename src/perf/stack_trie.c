/* SPDX-License-Identifier: MIT */
#include "perf/stack_trie.h"

#include <stdbool.h>
#include <string.h>

#include "base/pages.h"

/* Both stay in the second-level cache. */
#define EDGE_BITS 13    /* of 24 bytes */
#define ADDRESS_BITS 13 /* of 24 bytes */

/* A way from a stack to one with a frame more. */
struct edge_slot {
	uint64_t address;
	uint64_t version; /* of the maps; 0 for the kernel */
	uint32_t parent, node;
};

/* An address whose location is known. */
struct address_slot {
	uint64_t address;
	uint64_t version;  /* as of a edge */
	uint32_t location; /* id, 0: free */
};

struct stack_trie {
	struct profile *profile;
	struct dsos *dsos;
	uint64_t unknown;
	struct edge_slot edge_slots[1u << EDGE_BITS];          /* by hash; node 0: free */
	struct address_slot address_slots[1u << ADDRESS_BITS]; /* by hash */
};

struct stack_trie *stack_trie_new(struct profile *p, struct dsos *d)
{
	struct stack_trie *s = pages_new(sizeof *s);

	if (!s)
		return NULL;
	s->profile = p;
	s->dsos = d;
	return s;
}

void stack_trie_free(struct stack_trie *s)
{
	pages_free(s, sizeof *s);
}

static uint32_t add_location(struct stack_trie *s, struct code_address place)
{
	struct location l = { .mapping = place.mapping, .address = place.address };
	struct str name;

	if (!place.name)
		return profile_add_location(s->profile, &l);
	name = profile_get_str(s->profile, place.name);
	return profile_name_location(s->profile, name.ptr, name.len);
}

static const char *const space_names[] = {
	[FRAME_SPACE_USER] = "[unknown]",          [FRAME_SPACE_GUEST] = "[guest]",
	[FRAME_SPACE_HYPERVISOR] = "[hypervisor]", [FRAME_SPACE_TRUNCATED] = "[truncated]",
	[FRAME_SPACE_BROKEN] = "[broken]",         [FRAME_SPACE_INTERP] = "[interpreted]",
};

/* v: the mapping of a user's frame, NULL: none. */
static uint32_t locate(struct stack_trie *s, const struct stack_frame *f, const struct vma *v,
		       uint32_t pid)
{
	const char *name = space_names[f->space];

	if (f->space == FRAME_SPACE_INTERP)
		return (uint32_t)f->address;
	if (f->space == FRAME_SPACE_KERNEL)
		return add_location(s, dsos_locate_kernel(s->dsos, f->address));
	if (v)
		return add_location(s, dsos_locate(s->dsos, v, pid, f->address));
	s->unknown += f->space == FRAME_SPACE_USER;
	return profile_name_location(s->profile, name, strlen(name));
}

#define HASH_ADDRESS UINT64_C(0x9e3779b97f4a7c15)
#define HASH_REST UINT64_C(0xd6e8feb86659fd93)

static struct edge_slot *find_edge_slot(struct stack_trie *s, uint64_t address, uint64_t version,
					uint32_t parent)
{
	uint64_t h = address * HASH_ADDRESS ^ (version << 32 | parent) * HASH_REST;

	return &s->edge_slots[h >> (64 - EDGE_BITS)];
}

static struct address_slot *find_address_slot(struct stack_trie *s, uint64_t address,
					      uint64_t version)
{
	uint64_t h = address * HASH_ADDRESS ^ version * HASH_REST;

	return &s->address_slots[h >> (64 - ADDRESS_BITS)];
}

/* The location of a frame of the user or the kernel, 0: in no mapping. What is in none now may
 * be in one later, and is not remembered. */
static uint32_t find_location(struct stack_trie *s, const struct stack_frame *f, uint64_t version,
			      struct maps *maps, uint32_t pid)
{
	struct address_slot *slot = find_address_slot(s, f->address, version);
	const struct vma *v = NULL;

	if (slot->address == f->address && slot->version == version && slot->location)
		return slot->location;
	if (f->space == FRAME_SPACE_USER) {
		v = maps_find(maps, f->address);
		if (!v)
			return 0;
	}
	*slot = (struct address_slot){ f->address, version, locate(s, f, v, pid) };
	return slot->location;
}

/* *is_new: the parent was just made, so no stack goes on from it; the same of what is
 * returned. A stack that comes once is not worth remembering. */
static uint32_t push(struct stack_trie *s, uint32_t parent, const struct stack_frame *f,
		     struct maps *maps, uint32_t pid, bool *is_new)
{
	uint64_t version = f->space == FRAME_SPACE_USER ? maps_version(maps) : 0;
	struct edge_slot *edge = find_edge_slot(s, f->address, version, parent);
	bool can_remember = f->space <= FRAME_SPACE_KERNEL;
	size_t nodes = profile_node_count(s->profile);
	uint32_t location = 0, node;

	if (can_remember && !*is_new && edge->address == f->address && edge->version == version &&
	    edge->parent == parent && edge->node)
		return edge->node;
	if (can_remember)
		location = find_location(s, f, version, maps, pid);
	can_remember = location != 0;
	if (!location)
		location = locate(s, f, NULL, pid);
	node = profile_push(s->profile, parent, location);
	*is_new = profile_node_count(s->profile) > nodes;
	if (can_remember && !*is_new)
		*edge = (struct edge_slot){ f->address, version, parent, node };
	return node;
}

uint32_t stack_trie_node(struct stack_trie *s, const struct stack_frame *frames, size_t count,
			 struct maps *maps, uint32_t pid)
{
	return stack_trie_extend(s, 0, frames, count, maps, pid);
}

uint32_t stack_trie_extend(struct stack_trie *s, uint32_t node, const struct stack_frame *frames,
			   size_t count, struct maps *maps, uint32_t pid)
{
	bool is_new = false;

	for (size_t i = count; i > 0; i--)
		node = push(s, node, &frames[i - 1], maps, pid, &is_new);
	return node;
}

uint32_t stack_trie_locate(struct stack_trie *s, uint64_t address, struct maps *maps, uint32_t pid)
{
	const struct stack_frame f = { address, FRAME_SPACE_USER };

	return find_location(s, &f, maps_version(maps), maps, pid);
}

const char *stack_trie_space_name(enum frame_space space)
{
	return space_names[space];
}

uint64_t stack_trie_unknown(const struct stack_trie *s)
{
	return s->unknown;
}
