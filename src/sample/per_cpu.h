/* SPDX-License-Identifier: MIT */
/*
 * per_cpu: samples programs that create very many very short threads or processes.
 *
 * The timer of an inherited event restarts in each thread, so a thread that lives for less than a
 * period is never sampled, and each loses half a period on average. Events of whole CPUs do not
 * restart, but they also sample other processes, and they need privileges. So they replace
 * inherited events only when a good part of the threads end with few samples or none, and only
 * while the rest of the machine is not much busier. Samples of other processes are dropped.
 */
#ifndef SAMPLE_PER_CPU_H
#define SAMPLE_PER_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/ingest.h"
#include "sample/sampler.h"

/* All zero at the begin of a recording. */
struct per_cpu {
	bool is_on;
	bool is_over;             /* per-CPU events are not permitted, or cost too much */
	uint64_t rated, left_out; /* counts at the switch to per-CPU events */
};

/* Switches by the counts so far; call it after each drain. */
void per_cpu_update(struct per_cpu *w, struct sampler *s, struct ingest *in);

#endif
