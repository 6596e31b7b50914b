/* SPDX-License-Identifier: MIT */
/*
 * slowest: the slowest calls of each CPU, for syscalls.bpf.c.
 *
 * Nothing is sent while calls are traced: the few slots are read at the end. A call is compared
 * with one number first, so that the millions of fast ones cost no more.
 */
#ifndef BPF_SLOWEST_H
#define BPF_SLOWEST_H

#include "bpf/kernel.h"
#include "bpf/memory.h"
#include "bpf/syscalls.h"

/* No call that took less is one of the slowest: all slots of a CPU are slower. CPUs that raise it
 * at the same time may leave the lower value, which only costs time. */
__u64 slow_ns;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALLS_SLOWEST);
	__type(key, __u32);
	__type(value, struct calls_slow);
} slowest SEC(".maps");

/* The slot of the CPU's fastest slow call, or an empty one. *ret_next_ns: the second fastest. */
static __always_inline struct calls_slow *slowest_slot(__u64 *ret_ns, __u64 *ret_next_ns)
{
	struct calls_slow *found = NULL;

	*ret_ns = *ret_next_ns = ~0ull;
	for (__u32 i = 0; i < CALLS_SLOWEST; i++) {
		__u32 key = i;
		struct calls_slow *s = bpf_map_lookup_elem(&slowest, &key);
		__u64 ns;

		if (!s)
			return NULL;
		ns = s->event.end_ns - s->event.start_ns;
		if (ns < *ret_ns) {
			*ret_next_ns = *ret_ns;
			*ret_ns = ns;
			found = s;
		} else if (ns < *ret_next_ns) {
			*ret_next_ns = ns;
		}
	}
	return found;
}

/* least_ns: what each slot of this CPU took at least. */
static __always_inline void slowest_raise(__u64 least_ns)
{
	if (least_ns > slow_ns)
		slow_ns = least_ns;
}

#endif
