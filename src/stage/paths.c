/* SPDX-License-Identifier: MIT */
#include "stage/paths.h"

#include <errno.h>
#include <string.h>

#include "stage/names.h"

int paths_init(struct paths *p, uint32_t max, struct arena *a)
{
	p->max = max + 1;
	p->slot_count = 64;
	while (p->slot_count < 4 * p->max)
		p->slot_count *= 2;
	p->list = arena_alloc(a, (p->max + 1) * sizeof p->list[0]);
	p->slots = arena_alloc(a, p->slot_count * sizeof p->slots[0]);
	return p->list && p->slots ? 0 : -ENOMEM;
}

static struct path_slot *find_slot(struct paths *p, uint32_t parent, uint32_t name)
{
	uint64_t h = ((uint64_t)parent << 32 | name) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(h >> 32) & (p->slot_count - 1);

	while (p->slots[at].path && (p->slots[at].parent != parent || p->slots[at].name != name))
		at = (at + 1) & (p->slot_count - 1);
	return &p->slots[at];
}

static uint32_t hash_label(const char *label, size_t len)
{
	uint32_t h = 2166136261; /* FNV-1a, 32 bits */

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)label[i]) * 16777619;
	return h;
}

static uint32_t find_label(const struct paths *p, const char *label, size_t len)
{
	uint32_t hash = hash_label(label, len);

	for (uint32_t i = 1; i <= p->count; i++) {
		const struct path *path = &p->list[i];

		if (path->hash == hash && path->len == len && memcmp(path->label, label, len) == 0)
			return i;
	}
	return 0;
}

/* Writes the label of a name in a path; returns its length, 0: too long. */
static size_t make_label(const struct paths *p, uint32_t parent, uint32_t name, char *label)
{
	const struct path *outer = &p->list[parent];
	struct name own = names_get(name);
	size_t len = 0;

	if (own.len == 0)
		own = (struct name){ "(empty)", 7 };
	if (parent != PATH_TOP) {
		if (outer->len + 1 + own.len > LABEL_LEN_MAX)
			return 0;
		memcpy(label, outer->label, outer->len);
		label[outer->len] = '.';
		len = outer->len + 1;
	}
	memcpy(label + len, own.text, own.len);
	return len + own.len;
}

static uint32_t add(struct paths *p, uint32_t parent, uint32_t name, const char *label, size_t len,
		    struct arena *a)
{
	char *copy = arena_alloc(a, len);
	struct path *path;

	if (!copy)
		return 0;
	memcpy(copy, label, len);
	path = &p->list[p->count + 1];
	path->parent = parent;
	path->name = name;
	path->depth = parent == PATH_TOP ? 0 : p->list[parent].depth + 1;
	path->len = (uint32_t)len;
	path->hash = hash_label(label, len);
	path->label = copy;
	return ++p->count;
}

static uint32_t other(struct paths *p, struct arena *a)
{
	if (!p->other)
		p->other = find_label(p, "other", 5);
	if (!p->other)
		p->other = add(p, PATH_TOP, NAME_OTHER, "other", 5, a);
	return p->other;
}

uint32_t paths_child(struct paths *p, uint32_t parent, uint32_t name, struct arena *a)
{
	struct path_slot *slot = find_slot(p, parent, name);
	char label[LABEL_LEN_MAX];
	uint32_t path = 0;
	size_t len;

	if (slot->path)
		return slot->path;
	if (name == NAME_OTHER || p->used_slots >= p->slot_count / 2)
		return other(p, a);
	len = make_label(p, parent, name, label);
	if (len)
		path = find_label(p, label, len);
	if (!path && (!len || p->count + (p->other == 0) >= p->max))
		return other(p, a);
	if (!path)
		path = add(p, parent, name, label, len, a);
	if (!path)
		return 0;
	*slot = (struct path_slot){ parent, name, path };
	p->used_slots++;
	return path;
}
