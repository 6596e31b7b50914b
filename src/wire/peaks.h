/* SPDX-License-Identifier: MIT */
/*
 * peaks: the maximum of a number since any earlier moment, for a number that many threads change.
 *
 * A moment is a value of now. peaks_add() stores the maximum since the last add; peaks_since()
 * returns the maximum of all values stored after a moment. Only values that no later one exceeds
 * are kept, so both are cheap, and overlapping or nested windows do not affect each other. When the
 * list is full, two neighbors are merged: a window that starts between them gets the larger value.
 * Allocates nothing, because malloc() calls it. All zero is empty.
 */
#ifndef WIRE_PEAKS_H
#define WIRE_PEAKS_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PEAKS_MAX 128

struct peak {
	uint64_t moment;
	int64_t value;
};

struct peaks {
	uint32_t is_locked;
	uint32_t count;
	uint64_t now;                /* moments so far; atomic, written under the lock */
	struct peak list[PEAKS_MAX]; /* [count]: later moments have smaller values */
};

static inline void peaks_lock(struct peaks *p)
{
	while (__atomic_exchange_n(&p->is_locked, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&p->is_locked, __ATOMIC_RELAXED))
			sched_yield();
}

static inline void peaks_unlock(struct peaks *p)
{
	__atomic_store_n(&p->is_locked, 0, __ATOMIC_RELEASE);
}

static inline uint64_t peaks_now(const struct peaks *p)
{
	return __atomic_load_n(&p->now, __ATOMIC_RELAXED);
}

/* Merges the two neighbors that differ least. */
static inline void peaks_thin(struct peaks *p)
{
	size_t at = 1;

	for (size_t i = 2; i < p->count; i++) {
		if (p->list[i - 1].value - p->list[i].value <
		    p->list[at - 1].value - p->list[at].value)
			at = i;
	}
	p->list[at - 1].moment = p->list[at].moment;
	memmove(&p->list[at], &p->list[at + 1], (p->count - at - 1) * sizeof p->list[0]);
	p->count--;
}

/* value: the maximum since the last add. The caller holds the lock. */
static inline void peaks_put(struct peaks *p, int64_t value)
{
	uint64_t moment = p->now + 1;

	while (p->count && p->list[p->count - 1].value <= value)
		p->count--;
	if (p->count == PEAKS_MAX)
		peaks_thin(p);
	p->list[p->count++] = (struct peak){ moment, value };
	__atomic_store_n(&p->now, moment, __ATOMIC_RELAXED);
}

static inline void peaks_add(struct peaks *p, int64_t value)
{
	peaks_lock(p);
	peaks_put(p, value);
	peaks_unlock(p);
}

/* The maximum after this moment, at least least. */
static inline int64_t peaks_since(struct peaks *p, uint64_t moment, int64_t least)
{
	size_t low = 0;
	size_t high;

	if (peaks_now(p) == moment)
		return least;
	peaks_lock(p);
	high = p->count;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (p->list[middle].moment > moment)
			high = middle;
		else
			low = middle + 1;
	}
	if (low < p->count && p->list[low].value > least)
		least = p->list[low].value;
	peaks_unlock(p);
	return least;
}

#endif
