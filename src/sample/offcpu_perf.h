/* SPDX-License-Identifier: MIT */
/*
 * offcpu_perf: chooses the perf events for off-CPU time, as far as this machine permits.
 *
 * Each context switch has a sample with the kernel chain and the top of the user stack, and two
 * PERF_RECORD_SWITCH. Some switches have the stack as deep as samples of CPU time, which completes
 * the others. Where tracepoints are permitted, they show why a thread waits and when it is woken.
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

#define OFFCPU_PERF_STACK_BYTES 4096 /* of each switch; enough to leave the library that waits */

struct offcpu_perf {
	struct perf_event_attr attrs[ATTR_SWITCHES]; /* [count] */
	size_t kinds[ATTR_SWITCHES];                 /* INGEST_LEAVE, ... of each */
	size_t count;                                /* 0: none requested */
	bool has_no_stacks, has_no_states;           /* not permitted */
};

/* Kernel functions that wait for devices, for synthesize_find_functions(). */
extern const char *const offcpu_perf_sleeps[]; /* ends with NULL */

/* Sets in *ret_fields only what ingest needs of the samples. */
int offcpu_perf_find(struct offcpu_perf *s, const struct attr_opts *o,
		     const struct event_roots *roots, struct ingest_offcpu *ret_fields,
		     struct err *e) MUST_CHECK;

#endif
