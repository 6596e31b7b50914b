/* SPDX-License-Identifier: MIT */
/*
 * machine: what the whole machine did: its CPUs, and events of its memory management.
 *
 * Source: proc(5), /proc/stat and /proc/vmstat.
 */
#ifndef USAGE_MACHINE_H
#define USAGE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum machine_event {
	MACHINE_THP_ALLOC,     /* huge pages given at a fault */
	MACHINE_THP_FALLBACK,  /* there was none: small pages instead */
	MACHINE_COMPACT_STALL, /* waits until memory was put together */
	MACHINE_ALLOC_STALL,   /* waits until memory was taken from others */
	MACHINE_NUMA_MISS,     /* pages of another node than was wanted */
	MACHINE_EVENTS
};

/* Sums since the machine began; after machine_since(), of a time. */
struct machine {
	bool has_cpu;
	uint32_t cpu_count;                              /* that run */
	int64_t time_ns;                                 /* of clock_mono */
	int64_t user_ns, system_ns, iowait_ns, steal_ns; /* all CPUs; system: with interrupts */
	int64_t switches, forks;
	int64_t events[MACHINE_EVENTS]; /* -1: not told by this kernel */
};

void machine_read(struct machine *ret);

/* *now becomes what happened since before. */
void machine_since(struct machine *now, const struct machine *before);

/* The time that CPUs worked or were kept from it by the host. */
int64_t machine_busy_ns(const struct machine *m);

extern const char *const machine_event_names[MACHINE_EVENTS]; /* as /proc/vmstat has them */

#endif
