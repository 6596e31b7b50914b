/* SPDX-License-Identifier: MIT */
/*
 * order: merges several sources of records, each in time order, into one.
 *
 * A heap holds the sources by the time of their next record. Equal times come in the order of the
 * sources' numbers, so side-band sources get lower numbers than sources of samples.
 */
#ifndef PERF_ORDER_H
#define PERF_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct order_entry {
	uint64_t time;
	uint32_t source;
};

/* All zero is a valid empty order. */
struct order {
	struct order_entry *heap; /* [cap], [0..count) hold; owned */
	size_t count, cap;
};

void order_fini(struct order *o);

/* A source that is not in it, and the time of its next record. 0 or -ENOMEM. */
int order_put(struct order *o, uint32_t source, uint64_t time) MUST_CHECK;

/* The source with the earliest next record; false: there is none. */
bool order_first(const struct order *o, struct order_entry *ret);

/* The first source went on to its next record, or has none for now. */
void order_advance(struct order *o, uint64_t time);
void order_drop(struct order *o);

#endif
