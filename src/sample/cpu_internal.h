/* SPDX-License-Identifier: MIT */
/* cpu_inside: what the parts of cpu share. */
#ifndef SAMPLE_CPU_INTERNAL_H
#define SAMPLE_CPU_INTERNAL_H

#include "sample/cpu.h"
#include "sample/rawfile.h"
#include "sample/sampler.h"
#include "sample/switches.h"
#include "sample/waiting.h"
#include "sample/widen.h"
#include "target/runloop.h"

#define CPU_PROC "/proc"

struct cpu {
	struct cpu_opts opts;
	struct cpulist online; /* when no CPUs were asked for */
	const struct cpulist *cpus;
	struct switches switches;
	struct ingest_waits waits;
	struct waiting *waiting; /* NULL: waits are told by switches, or not at all */
	struct sampler *sampler;
	struct ingest *ingest;
	struct runloop loop;
	struct widen widen;
	struct rawfile *raw;             /* NULL: none */
	int64_t start_ns, start_wall_ns; /* when sampling began; of clock_mono, clock_wall */
	bool has_no_kernel;
};

/* Chooses what was left open of events, frequency and CPUs, and makes the rings. */
int cpu_open_events(struct cpu *c, struct err *e) MUST_CHECK;

/* Sampling of who was asked for: the command, all threads of the processes, or everything. */
int cpu_attach(struct cpu *c, struct err *e) MUST_CHECK;

/* What no record of the kernel tells: the names and mappings of what runs, before sampling
 * begins. */
int cpu_tell_running(struct cpu *c, struct err *e) MUST_CHECK;

/* And what of it waits, right after. */
int cpu_tell_waiting(struct cpu *c, struct err *e) MUST_CHECK;

/* Is there an event whose samples tell addresses? */
bool cpu_has_addresses(const struct cpu *c);

/* For ingest_opts.fetch; context: the struct cpu. */
void cpu_fetch(void *context, uint32_t pid);

#endif
