/* SPDX-License-Identifier: MIT */
/*
 * switches: the events that tell of threads leaving their CPU and coming back, as far as they
 * can be had here.
 *
 * Each switch brings a sample with the kernel's chain and the top of the user's stack, and
 * two small records, of leaving and of coming back. Some switches bring the stack as deep as
 * samples of the CPU time have it, which completes the others. Where the kernel's tracepoints
 * may be used, they tell why a thread waits, and from when on it only waits for a CPU.
 * Source: perf_event_open(2), context_switch; kernel 6.18, include/trace/events/sched.h.
 */
#ifndef SAMPLE_OFFCPU_PERF_H
#define SAMPLE_OFFCPU_PERF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "perf/ingest.h"
#include "sample/attr.h"
#include "sample/events.h"

#define OFFCPU_PERF_STACK_BYTES 4096 /* of each switch: seldom more than leaves a library */

struct offcpu_perf {
	struct perf_event_attr attrs[ATTR_SWITCHES]; /* [count] */
	size_t kinds[ATTR_SWITCHES];                 /* INGEST_LEAVE, ... of each */
	size_t count;                                /* 0: none are asked for */
	bool has_no_stacks, has_no_states;           /* because they are not allowed */
};

/* The kernel's functions that wait for devices, for synthesize_find_functions(). */
extern const char *const offcpu_perf_sleeps[]; /* ends with NULL */

/* *ret_fields: what ingest must know of the samples (only that is set). */
int offcpu_perf_find(struct offcpu_perf *s, const struct attr_opts *o,
		     const struct event_roots *roots, struct ingest_offcpu *ret_fields,
		     struct err *e) MUST_CHECK;

#endif
