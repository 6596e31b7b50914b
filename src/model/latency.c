/* SPDX-License-Identifier: MIT */
#include "model/latency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void latency_fini(struct latency *l)
{
	free(l->slots);
	*l = (struct latency){ 0 };
}

size_t latency_slot(uint64_t ns)
{
	unsigned bits;

	if (ns < (1u << LATENCY_LOW_BITS))
		return 0;
	if (ns >= (uint64_t)LATENCY_TOP_NS)
		return LATENCY_SLOTS - 1;
	bits = 63 - (unsigned)__builtin_clzll(ns);
	return 1 + (size_t)(bits - LATENCY_LOW_BITS) * LATENCY_SUB +
	       (size_t)(ns >> (bits - LATENCY_SUB_BITS) & (LATENCY_SUB - 1));
}

int64_t latency_slot_start(size_t slot)
{
	size_t octave, sub;

	if (slot == 0)
		return 0;
	octave = (slot - 1) / LATENCY_SUB;
	sub = (slot - 1) % LATENCY_SUB;
	return (int64_t)((LATENCY_SUB + sub) << (octave + LATENCY_LOW_BITS - LATENCY_SUB_BITS));
}

/* Makes the slots reach from first to last. */
static int widen(struct latency *l, size_t first, size_t last)
{
	uint64_t *slots = calloc(last - first + 1, sizeof *slots);

	if (!slots)
		return -ENOMEM;
	if (l->slots)
		memcpy(slots + (l->first - first), l->slots, l->slot_count * sizeof *slots);
	free(l->slots);
	l->slots = slots;
	l->first = (uint16_t)first;
	l->slot_count = (uint16_t)(last - first + 1);
	return 0;
}

int latency_add_slot(struct latency *l, size_t slot, uint64_t count)
{
	size_t first = l->slots ? l->first : slot;
	size_t last = l->slots ? (size_t)l->first + l->slot_count - 1 : slot;

	if (!l->slots || slot < first || slot > last) {
		first = slot < first ? slot : first;
		last = slot > last ? slot : last;
		if (widen(l, first, last) < 0)
			return -ENOMEM;
	}
	l->slots[slot - l->first] += count;
	return 0;
}

int latency_add(struct latency *l, int64_t ns)
{
	if (ns < 0)
		ns = 0;
	if (latency_add_slot(l, latency_slot((uint64_t)ns), 1) < 0)
		return -ENOMEM;
	if (l->count == 0 || ns < l->min_ns)
		l->min_ns = ns;
	if (ns > l->max_ns)
		l->max_ns = ns;
	l->count++;
	if (__builtin_add_overflow(l->total_ns, ns, &l->total_ns))
		l->total_ns = INT64_MAX;
	return 0;
}

int latency_merge(struct latency *l, const struct latency *from)
{
	if (from->count == 0)
		return 0;
	for (size_t i = 0; i < from->slot_count; i++)
		if (from->slots[i] && latency_add_slot(l, from->first + i, from->slots[i]) < 0)
			return -ENOMEM;
	if (l->count == 0 || from->min_ns < l->min_ns)
		l->min_ns = from->min_ns;
	if (from->max_ns > l->max_ns)
		l->max_ns = from->max_ns;
	l->count += from->count;
	if (__builtin_add_overflow(l->total_ns, from->total_ns, &l->total_ns))
		l->total_ns = INT64_MAX;
	return 0;
}

int64_t latency_mean(const struct latency *l)
{
	return l->count ? l->total_ns / (int64_t)l->count : 0;
}

static int64_t clamp(const struct latency *l, int64_t ns)
{
	if (ns < l->min_ns)
		return l->min_ns;
	return ns > l->max_ns ? l->max_ns : ns;
}

int64_t latency_quantile(const struct latency *l, double q)
{
	double want = q * (double)l->count;
	uint64_t seen = 0;

	for (size_t i = 0; i < l->slot_count; i++) {
		int64_t start, width;

		if (l->slots[i] == 0 || (double)(seen + l->slots[i]) < want) {
			seen += l->slots[i];
			continue;
		}
		start = latency_slot_start(l->first + i);
		width = latency_slot_start(l->first + i + 1) - start;
		return clamp(l, start + (int64_t)((want - (double)seen) / (double)l->slots[i] *
						  (double)width));
	}
	return l->max_ns;
}

uint64_t latency_octave(const struct latency *l, unsigned bits)
{
	size_t first =
		bits < LATENCY_LOW_BITS ? 0 : 1 + (size_t)(bits - LATENCY_LOW_BITS) * LATENCY_SUB;
	size_t count = bits < LATENCY_LOW_BITS ? 1 : LATENCY_SUB;
	uint64_t sum = 0;

	for (size_t i = first; i < first + count; i++)
		if (i >= l->first && i < (size_t)l->first + l->slot_count)
			sum += l->slots[i - l->first];
	return sum;
}
