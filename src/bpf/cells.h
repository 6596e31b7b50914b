/* SPDX-License-Identifier: MIT */
/* cells: adds a call to those of its kind, for syscalls.bpf.c. */
#ifndef BPF_CELLS_H
#define BPF_CELLS_H

#include "bpf/kernel.h"
#include "bpf/syscalls.h"

static __always_inline __u32 slot_of(__u64 ns)
{
	__u64 v = ns;
	__u32 bits = 0;

	if (ns < 1u << CALLS_LOW_BITS)
		return 0;
	if (ns >= 1ull << CALLS_HIGH_BITS)
		return CALLS_SLOTS - 1;
	if (v >= 1ull << 32) {
		v >>= 32;
		bits += 32;
	}
	if (v >= 1 << 16) {
		v >>= 16;
		bits += 16;
	}
	if (v >= 1 << 8) {
		v >>= 8;
		bits += 8;
	}
	if (v >= 1 << 4) {
		v >>= 4;
		bits += 4;
	}
	if (v >= 1 << 2) {
		v >>= 2;
		bits += 2;
	}
	bits += v >> 1;
	return 1 + ((bits - CALLS_LOW_BITS) << CALLS_SUB_BITS) +
	       ((ns >> (bits - CALLS_SUB_BITS)) & ((1 << CALLS_SUB_BITS) - 1));
}

static __always_inline void cell_add(struct calls_cell *c, bool is_timed, __u64 ns)
{
	__u32 slot;

	c->count++;
	if (!is_timed)
		return;
	if (c->timed == 0 || ns < c->min_ns)
		c->min_ns = ns;
	if (ns > c->max_ns)
		c->max_ns = ns;
	c->timed++;
	c->total_ns += ns;
	slot = slot_of(ns);
	if (slot < CALLS_SLOTS)
		c->slots[slot]++;
}

#endif
