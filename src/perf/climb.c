/* SPDX-License-Identifier: MIT */
#include "perf/climb.h"

#include <stdlib.h>
#include <string.h>

#define STEP_BITS 14 /* 16384 steps of 24 bytes: stays in the second-level cache */

/* A way from a stack to one with a frame more. */
struct step {
	uint64_t address;
	uint64_t version; /* of the maps; 0 and space for what is not of a process */
	uint32_t parent, node;
};

struct climb {
	struct profile *profile;
	struct dsos *dsos;
	uint64_t unknown;
	struct step steps[1u << STEP_BITS]; /* by hash; node 0: free */
};

struct climb *climb_new(struct profile *p, struct dsos *d)
{
	struct climb *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->profile = p;
	s->dsos = d;
	return s;
}

void climb_free(struct climb *s)
{
	free(s);
}

static uint32_t place_location(struct climb *s, struct place place)
{
	struct location l = { .mapping = place.mapping, .address = place.address };
	struct str name;

	if (!place.name)
		return profile_add_location(s->profile, &l);
	name = profile_get_str(s->profile, place.name);
	return profile_name_location(s->profile, name.ptr, name.len);
}

/* What is shown of a frame that is no address of ours. */
static const char *const space_names[] = {
	[FRAME_SPACE_USER] = "[unknown]",          [FRAME_SPACE_GUEST] = "[guest]",
	[FRAME_SPACE_HYPERVISOR] = "[hypervisor]", [FRAME_SPACE_TRUNCATED] = "[truncated]",
	[FRAME_SPACE_BROKEN] = "[broken]",
};

/* v: the mapping of a user's frame, NULL: none. */
static uint32_t locate(struct climb *s, const struct stack_frame *f, const struct vma *v,
		       uint32_t pid)
{
	const char *name = space_names[f->space];

	if (f->space == FRAME_SPACE_KERNEL)
		return place_location(s, dsos_locate_kernel(s->dsos, f->address));
	if (v)
		return place_location(s, dsos_locate(s->dsos, v, pid, f->address));
	s->unknown += f->space == FRAME_SPACE_USER;
	return profile_name_location(s->profile, name, strlen(name));
}

static struct step *find_slot(struct climb *s, const struct step *key)
{
	uint64_t h = key->address * UINT64_C(0x9e3779b97f4a7c15);

	h ^= (key->version << 32 | key->parent) * UINT64_C(0xd6e8feb86659fd93);
	return &s->steps[h >> (64 - STEP_BITS)];
}

static uint32_t push(struct climb *s, uint32_t parent, const struct stack_frame *f,
		     struct maps *maps, uint32_t pid)
{
	struct step key = {
		.address = f->address,
		.version = f->space == FRAME_SPACE_USER ? maps_version(maps) : 0,
		.parent = parent,
	};
	struct step *slot = find_slot(s, &key);
	const struct vma *v = NULL;

	if (slot->address == key.address && slot->version == key.version &&
	    slot->parent == parent && slot->node)
		return slot->node;
	if (f->space == FRAME_SPACE_USER)
		v = maps_find(maps, f->address);
	key.node = profile_push(s->profile, parent, locate(s, f, v, pid));
	/* What is in no mapping now may be in one later. */
	if (v || f->space == FRAME_SPACE_KERNEL)
		*slot = key;
	return key.node;
}

uint32_t climb_node(struct climb *s, const struct stack_frame *frames, size_t count,
		    struct maps *maps, uint32_t pid)
{
	uint32_t node = 0;

	for (size_t i = count; i > 0; i--)
		node = push(s, node, &frames[i - 1], maps, pid);
	return node;
}

uint64_t climb_unknown(const struct climb *s)
{
	return s->unknown;
}
