/* SPDX-License-Identifier: MIT */
#include "perf/maps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct maps {
	size_t refs;
	uint64_t version;
	uint64_t *versions; /* the last that was given out */
	struct vma *vmas;   /* [cap], [0..count) sorted and disjoint; owned */
	size_t count, cap;
	size_t last_hit; /* index: where maps_find looks first */
	struct maps_view view;
};

struct maps *maps_new(uint64_t *versions)
{
	struct maps *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->refs = 1;
	m->versions = versions;
	m->version = ++*versions;
	return m;
}

struct maps *maps_ref(struct maps *m)
{
	m->refs++;
	return m;
}

void maps_unref(struct maps *m)
{
	if (!m || --m->refs > 0)
		return;
	free(m->vmas);
	free(m->view.maps);
	free(m);
}

static struct maps *copy(const struct maps *m)
{
	struct maps *c = maps_new(m->versions);

	if (!c || m->count == 0)
		return c;
	c->vmas = calloc(m->count + 1, sizeof *c->vmas);
	if (!c->vmas) {
		maps_unref(c);
		return NULL;
	}
	memcpy(c->vmas, m->vmas, m->count * sizeof *c->vmas);
	c->count = m->count;
	c->cap = m->count + 1;
	return c;
}

/* Index of the first mapping that ends behind address. */
static size_t find_end(const struct maps *m, uint64_t address)
{
	size_t lo = 0, hi = m->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->vmas[mid].end <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Room for n more: a mapping within another splits it, so one add makes at most two. */
static int grow(struct maps *m, size_t n)
{
	size_t cap = m->cap ? m->cap : 16;
	struct vma *vmas;

	if (m->count + n <= m->cap)
		return 0;
	while (cap < m->count + n)
		cap += cap / 2;
	vmas = reallocarray(m->vmas, cap, sizeof *vmas);
	if (!vmas)
		return -ENOMEM;
	m->vmas = vmas;
	m->cap = cap;
	return 0;
}

static struct vma tail_of(const struct vma *v, uint64_t start)
{
	struct vma t = *v;

	t.offset += start - v->start;
	t.start = start;
	return t;
}

/* Puts v over what it covers. There is room for two more. */
static void replace(struct maps *m, const struct vma *v)
{
	size_t first = find_end(m, v->start); /* [first..last) overlap v */
	size_t last = first;
	struct vma parts[3];
	size_t n = 0;

	while (last < m->count && m->vmas[last].start < v->end)
		last++;
	if (last > first && m->vmas[first].start < v->start) {
		parts[n] = m->vmas[first];
		parts[n++].end = v->start;
	}
	parts[n++] = *v;
	if (last > first && m->vmas[last - 1].end > v->end)
		parts[n++] = tail_of(&m->vmas[last - 1], v->end);
	m->view.made_for = 0;
	if (last > first)
		m->version = ++*m->versions; /* invalidates earlier lookups */
	memmove(m->vmas + first + n, m->vmas + last, (m->count - last) * sizeof *m->vmas);
	memcpy(m->vmas + first, parts, n * sizeof *parts);
	m->count = m->count - (last - first) + n;
}

static bool has(const struct maps *m, const struct vma *v)
{
	size_t i = find_end(m, v->start);
	const struct vma *old;

	if (i == m->count)
		return false;
	old = &m->vmas[i];
	return old->start == v->start && old->end == v->end && old->offset == v->offset &&
	       old->dso == v->dso;
}

int maps_add(struct maps **m, const struct vma *v)
{
	struct maps *own = *m;

	if (v->start >= v->end || has(own, v))
		return 0;
	if (own->refs > 1) {
		own = copy(own);
		if (!own)
			return -ENOMEM;
	}
	if (grow(own, 2) < 0) {
		if (own != *m)
			maps_unref(own);
		return -ENOMEM;
	}
	if (own != *m) {
		maps_unref(*m);
		*m = own;
	}
	replace(own, v);
	return 0;
}

const struct vma *maps_find(struct maps *m, uint64_t address)
{
	const struct vma *v;
	size_t i;

	if (m->last_hit < m->count) {
		v = &m->vmas[m->last_hit];
		if (address >= v->start && address < v->end)
			return v;
	}
	i = find_end(m, address);
	if (i == m->count || address < m->vmas[i].start)
		return NULL;
	m->last_hit = i;
	return &m->vmas[i];
}

struct maps_view *maps_view(struct maps *m)
{
	return &m->view;
}

uint64_t maps_version(const struct maps *m)
{
	return m->version;
}

size_t maps_count(const struct maps *m)
{
	return m->count;
}

const struct vma *maps_get(const struct maps *m, size_t i)
{
	return &m->vmas[i];
}
