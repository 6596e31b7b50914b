/* SPDX-License-Identifier: MIT */
/* bpf_sums: moves the sums of bpf/syscalls.bpf.c from its maps to the tally.
 */
#ifndef SYSCALLS_SUMS_H
#define SYSCALLS_SUMS_H

#include "base/err.h"
#include "base/macros.h"
#include "syscalls/sink.h"

/* Descriptors of maps. */
struct syscall_bpf_sums {
	int totals, failures, by_thread, threads, sums, slowest;
};

/* Calls that were lost because a map or the ring was full. */
int syscall_bpf_sums_lost(const struct syscall_bpf_sums *m, uint64_t *ret,
			  struct err *e) MUST_CHECK;

/* Reads all sums, and the slowest calls if they are wanted. now_ns: the end of recording. */
int syscall_bpf_sums_read(const struct syscall_bpf_sums *m, struct syscall_sink *sink,
			  int64_t now_ns, struct err *e) MUST_CHECK;

#endif
