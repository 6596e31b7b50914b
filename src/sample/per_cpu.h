/* SPDX-License-Identifier: MIT */
/*
 * widen: sampling of a command that makes very many very short processes.
 *
 * The timer of an event that a process inherits starts anew with it, so one that lives for
 * less than a period is never sampled. Events of whole CPUs go on from one process to the
 * next, but see those of others, too, whose samples are written for nothing; and they need
 * privileges. So they take over only when a good part of a command's processes end unseen,
 * and only while the rest of the machine is not much busier than the command. Samples of
 * others are left out: the records of the command's tree tell who belongs to it.
 */
#ifndef SAMPLE_PER_CPU_H
#define SAMPLE_PER_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/ingest.h"
#include "sample/sampler.h"

/* All zero is a recording that begins. */
struct per_cpu {
	bool is_on;
	bool is_over;             /* it is not to be had, or has cost too much */
	uint64_t rated, left_out; /* when it began */
};

/* Looks at what was seen so far; call now and then. */
void per_cpu_update(struct per_cpu *w, struct sampler *s, struct ingest *in);

#endif
