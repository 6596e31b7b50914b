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
#ifndef SAMPLE_WAITING_H
#define SAMPLE_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "perf/ingest.h"
#include "sample/attr.h"

struct waiting_opts {
	enum stack_mode stack;
	bool is_user_only, is_kernel_only;
	bool has_cpu_label;

	/* Who: one of the three. Children and threads that are made later belong to them. */
	pid_t command;     /* from its next exec on; 0: none */
	const pid_t *pids; /* [pid_count]; borrowed until waiting_new() ends */
	size_t pid_count;
	bool is_all; /* but this process */
};

struct waiting;

/* Loads it, and attaches it. Fails as bpf_probe() does: "FOUND; needs REMEDY" in e. */
int waiting_new(const struct waiting_opts *o, struct waiting **ret, struct err *e) MUST_CHECK;
void waiting_free(struct waiting *w);

/* Becomes readable when the ring fills up: once for each time (EPOLLET). */
int waiting_fd(const struct waiting *w);

/* From this time on (of clock_mono) waits are counted, those too that began before. */
int waiting_begin(struct waiting *w, uint64_t time_ns, struct err *e) MUST_CHECK;

/* Takes what is in the ring, and reads the sums when there are many. -ENOMEM. */
int waiting_poll(struct waiting *w, struct ingest *in) MUST_CHECK;

/* Hands on the stacks that were taken and told before this time, which come between the records of
 * processes by that. -ENOMEM. */
int waiting_tell(struct waiting *w, struct ingest *in, uint64_t before_ns) MUST_CHECK;

/* Stops, counts what still waits up to this time, and hands on all. -ENOMEM. */
int waiting_end(struct waiting *w, struct ingest *in, uint64_t time_ns) MUST_CHECK;

#endif
