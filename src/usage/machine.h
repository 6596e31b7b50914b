/* SPDX-License-Identifier: MIT */
/*
 * machine: CPU times and memory-management events of the whole machine.
 *
 * Source: proc(5), /proc/stat and /proc/vmstat.
 */
#ifndef USAGE_MACHINE_H
#define USAGE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum machine_event {
	MACHINE_THP_ALLOC,     /* huge pages allocated at a fault */
	MACHINE_THP_FALLBACK,  /* no huge page free: small pages instead */
	MACHINE_COMPACT_STALL, /* stalls for compaction */
	MACHINE_ALLOC_STALL,   /* stalls for reclaim */
	MACHINE_NUMA_MISS,     /* pages from another node than requested */
	MACHINE_EVENTS
};

/* Totals since boot; after machine_since(), of an interval. */
struct machine {
	bool has_cpu;
	uint32_t cpu_count;                              /* online */
	int64_t time_ns;                                 /* of clock_mono */
	int64_t user_ns, system_ns, iowait_ns, steal_ns; /* all CPUs; system: with interrupts */
	int64_t switches, forks;
	int64_t events[MACHINE_EVENTS]; /* -1: not in this kernel */
};

void machine_read(struct machine *ret);

/* Subtracts before from *now. */
void machine_since(struct machine *now, const struct machine *before);

/* Busy and stolen time of all CPUs. */
int64_t machine_busy_ns(const struct machine *m);

extern const char *const machine_event_names[MACHINE_EVENTS]; /* as /proc/vmstat has them */

#endif
