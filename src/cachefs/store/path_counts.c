/* SPDX-License-Identifier: MIT */
#include "cachefs/store/path_counts.h"

#include <stdlib.h>

static void add(_Atomic uint64_t *sum, uint64_t value)
{
	if (value)
		atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *sum)
{
	return atomic_load_explicit(sum, memory_order_relaxed);
}

bool path_counts_make(_Atomic(struct path_counts *) *at)
{
	struct path_counts *none = NULL, *made;

	if (atomic_load(at))
		return false;
	made = calloc(1, sizeof *made);
	if (!made)
		return false;
	if (atomic_compare_exchange_strong(at, &none, made))
		return true;
	free(made); /* another thread set it first */
	return false;
}

void path_counts_free(struct path_counts *c)
{
	if (!c)
		return;
	free(atomic_load(&c->evicted));
	free(c);
}

void path_counts_add(struct path_counts *c, enum path_class class, enum request_result result,
		     int64_t ns, uint64_t bytes)
{
	if (result >= PATH_RESULTS)
		return;
	add(&c->calls[class][result], 1);
	add(&c->ns[class][result], (uint64_t)ns);
	add(&c->bytes[result], bytes);
}

static void merge(struct path_counts *to, const struct path_counts *from)
{
	for (int class = 0; class < PATH_CLASSES; class ++) {
		for (int result = 0; result < PATH_RESULTS; result++) {
			add(&to->calls[class][result], get(&from->calls[class][result]));
			add(&to->ns[class][result], get(&from->ns[class][result]));
		}
	}
	for (int i = 0; i < NEGATIVE_EVENTS; i++)
		add(&to->negatives[i], get(&from->negatives[i]));
	for (int result = 0; result < PATH_RESULTS; result++)
		add(&to->bytes[result], get(&from->bytes[result]));
}

void path_counts_merge(struct path_counts *to, const struct path_counts *from)
{
	const struct path_counts *below = atomic_load(&from->evicted);

	merge(to, from);
	add(&to->paths, 1);
	if (below) {
		merge(to, below);
		add(&to->paths, get(&below->paths));
	}
}

static void clear(_Atomic uint64_t *sum)
{
	atomic_store_explicit(sum, 0, memory_order_relaxed);
}

void path_counts_reset(struct path_counts *c, enum path_class class)
{
	struct path_counts *below = atomic_load(&c->evicted);

	for (int i = 0; i < PATH_CLASSES; i++) {
		if (class != PATH_CLASSES && i != (int)class)
			continue;
		for (int result = 0; result < PATH_RESULTS; result++) {
			clear(&c->calls[i][result]);
			clear(&c->ns[i][result]);
		}
	}
	for (int i = 0; (class == PATH_DATA || class == PATH_CLASSES) && i < PATH_RESULTS; i++)
		clear(&c->bytes[i]);
	for (int i = 0; class == PATH_CLASSES && i < NEGATIVE_EVENTS; i++)
		clear(&c->negatives[i]);
	if (below && class == PATH_CLASSES)
		clear(&below->paths);
	if (below)
		path_counts_reset(below, class);
}

void path_counts_read(const struct path_counts *c, struct path_counts *ret)
{
	*ret = (struct path_counts){ .paths = get(&c->paths) };
	merge(ret, c);
}

uint64_t path_counts_events(const struct path_counts *c, enum path_class class)
{
	uint64_t sum = 0;

	for (int result = 0; result < PATH_RESULTS; result++)
		sum += get(&c->calls[class][result]);
	return sum;
}

uint64_t path_counts_ns(const struct path_counts *c, enum path_class class)
{
	uint64_t sum = 0;

	for (int result = 0; result < PATH_RESULTS; result++)
		sum += get(&c->ns[class][result]);
	return sum;
}

uint64_t path_counts_bytes(const struct path_counts *c)
{
	uint64_t sum = 0;

	for (int result = 0; result < PATH_RESULTS; result++)
		sum += get(&c->bytes[result]);
	return sum;
}

uint64_t path_counts_negative_events(const struct path_counts *c)
{
	uint64_t sum = 0;

	for (int i = 0; i < NEGATIVE_EVENTS; i++)
		sum += get(&c->negatives[i]);
	return sum;
}

bool path_counts_has_any(const struct path_counts *c)
{
	const struct path_counts *below = atomic_load(&c->evicted);

	for (int class = 0; class < PATH_CLASSES; class ++)
		if (path_counts_events(c, (enum path_class) class))
			return true;
	return path_counts_negative_events(c) || (below && path_counts_has_any(below));
}
