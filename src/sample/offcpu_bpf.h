/* SPDX-License-Identifier: MIT */
/*
 * offcpu_bpf: sums off-CPU time in the kernel, by a BPF program on context switches.
 *
 * A switch adds to the sum of its thread, stack and state. Only a new stack is sent through a ring:
 * the kernel chain, registers and the user stack to its end, or 16 KiB of it. Sending wakes no
 * reader. We read the sums when there are many, and at the end. When threads waited comes through
 * another ring, at most once in 10 ms for each sum; what it has no room for comes later and
 * together.
 *
 * When the ring or the map of sums is full, times are kept by thread and state, and reported with a
 * lost stack.
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
#include "sample/python/python.h"
#include "sample/python/walker.h"

struct offcpu_bpf_opts {
	enum stack_mode stack;
	bool is_user_only, is_kernel_only;
	bool has_cpu_label;
	bool has_times;  /* of waits, to within WAIT_PIECE_NS */
	bool has_python; /* stacks get Python frames, where the kernel loads the program for it */

	/* What to record: one of the three, with later children and threads. */
	pid_t command;     /* from its next exec; 0: none */
	const pid_t *pids; /* [pid_count]; borrowed until offcpu_bpf_new() returns */
	size_t pid_count;
	bool is_all; /* except this process */

	uint64_t ring_max; /* bytes of address space for the ring of stacks */
};

struct offcpu_bpf;

/* Loads and attaches the program. Fails as bpf_probe() does: "FOUND; needs REMEDY" in e. */
int offcpu_bpf_new(const struct offcpu_bpf_opts *o, struct offcpu_bpf **ret,
		   struct err *e) MUST_CHECK;
void offcpu_bpf_free(struct offcpu_bpf *w);

/* The maps of its program that walks Python frames; false: it does not. */
bool offcpu_bpf_maps(const struct offcpu_bpf *w, struct walker_maps *ret);

/* What reads these frames; borrowed. NULL: nothing does. */
void offcpu_bpf_use_python(struct offcpu_bpf *w, struct python *python);

/* Becomes readable each time the ring fills up (EPOLLET). */
int offcpu_bpf_fd(const struct offcpu_bpf *w);

/* Counts waits from this time (clock_mono), including those that began before. */
int offcpu_bpf_begin(struct offcpu_bpf *w, uint64_t time_ns, struct err *e) MUST_CHECK;

/* Reads the ring, and the sums when there are many. -ENOMEM. */
int offcpu_bpf_poll(struct offcpu_bpf *w, struct ingest *in) MUST_CHECK;

/* Passes stacks older than this time to ingest, so that they come in order with side-band records.
 * -ENOMEM. */
int offcpu_bpf_put_stacks(struct offcpu_bpf *w, struct ingest *in, uint64_t before_ns) MUST_CHECK;

/* Stops, ends open waits at this time, and passes everything to ingest. -ENOMEM. */
int offcpu_bpf_end(struct offcpu_bpf *w, struct ingest *in, uint64_t time_ns) MUST_CHECK;

#endif
