/* SPDX-License-Identifier: MIT */
/* sysc_sums: what the programs of bpf/syscalls.bpf.c summed, from their maps to the tally. */
#ifndef SYSCALLS_SUMS_H
#define SYSCALLS_SUMS_H

#include "base/err.h"
#include "base/macros.h"
#include "syscalls/feed.h"

/* Descriptors of maps. */
struct sysc_sums {
	int totals, failures, by_thread, threads, sums;
};

/* Calls that could not be summed, or found the ring full. */
int sysc_sums_lost(const struct sysc_sums *m, uint64_t *ret, struct err *e) MUST_CHECK;

/* All else; now_ns: the end of recording. */
int sysc_sums_take(const struct sysc_sums *m, struct sysc_feed *feed, int64_t now_ns,
		   struct err *e) MUST_CHECK;

#endif
