/* SPDX-License-Identifier: MIT */
/*
 * waiting: time off the CPU, summed by a BPF program in the kernel.
 *
 * A switch between threads adds to the sums of its thread, stack and reason; only what was not met
 * before comes through a ring: the kernel's chain, registers and the user's stack up to its end, or
 * 16 KiB of it. Nobody is woken for it. The sums are read when there are many, and in the end.
 *
 * When the ring or the table of sums are full, the times are kept, with the thread and the reason,
 * and told as of a lost stack.
 */
#ifndef SAMPLE_OFFCPU_BPF_H
#define SAMPLE_OFFCPU_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "perf/ingest.h"
#include "sample/attr.h"

struct offcpu_bpf_opts {
	enum stack_mode stack;
	bool is_user_only, is_kernel_only;
	bool has_cpu_label;

	/* Who: one of the three. Children and threads that are made later belong to them. */
	pid_t command;     /* from its next exec on; 0: none */
	const pid_t *pids; /* [pid_count]; borrowed until offcpu_bpf_new() ends */
	size_t pid_count;
	bool is_all; /* but this process */
};

struct offcpu_bpf;

/* Loads it, and attaches it. Fails as bpf_probe() does: "FOUND; needs REMEDY" in e. */
int offcpu_bpf_new(const struct offcpu_bpf_opts *o, struct offcpu_bpf **ret,
		   struct err *e) MUST_CHECK;
void offcpu_bpf_free(struct offcpu_bpf *w);

/* Becomes readable when the ring fills up: once for each time (EPOLLET). */
int offcpu_bpf_fd(const struct offcpu_bpf *w);

/* From this time on (of clock_mono) waits are counted, those too that began before. */
int offcpu_bpf_begin(struct offcpu_bpf *w, uint64_t time_ns, struct err *e) MUST_CHECK;

/* Takes what is in the ring, and reads the sums when there are many. -ENOMEM. */
int offcpu_bpf_poll(struct offcpu_bpf *w, struct ingest *in) MUST_CHECK;

/* Hands on the stacks that were taken and told before this time, which come between the records of
 * processes by that. -ENOMEM. */
int offcpu_bpf_put_stacks(struct offcpu_bpf *w, struct ingest *in, uint64_t before_ns) MUST_CHECK;

/* Stops, counts what still waits up to this time, and hands on all. -ENOMEM. */
int offcpu_bpf_end(struct offcpu_bpf *w, struct ingest *in, uint64_t time_ns) MUST_CHECK;

#endif
