/* SPDX-License-Identifier: MIT */
/* recording_internal: the state that the files of recording share. */
#ifndef SAMPLE_RECORDING_INTERNAL_H
#define SAMPLE_RECORDING_INTERNAL_H

#include "sample/offcpu_bpf.h"
#include "sample/offcpu_perf.h"
#include "sample/per_cpu.h"
#include "sample/rawfile.h"
#include "sample/recording.h"
#include "sample/sampler.h"
#include "target/runloop.h"

#define RECORDING_PROC "/proc"

struct recording {
	struct recording_opts opts;
	struct cpulist online; /* without opts.cpus */
	const struct cpulist *cpus;
	struct offcpu_perf switches;
	struct ingest_offcpu waits;
	struct offcpu_bpf
		*offcpu_bpf;   /* NULL: off-CPU time comes from switches, or is not recorded */
	struct python *python; /* NULL: no Python frames */
	struct sampler *sampler;
	struct ingest *ingest;
	struct runloop loop;
	struct per_cpu per_cpu;
	struct rawfile *raw;             /* NULL: none */
	int64_t start_ns, start_wall_ns; /* when sampling began; of clock_mono, clock_wall */
	bool has_no_kernel;
};

/* Chooses what was left open of events, frequency and CPUs, and makes the rings. */
int recording_open_events(struct recording *c, struct err *e) MUST_CHECK;

/* Attaches the events to the command, all threads of the processes, or all CPUs. */
int recording_attach(struct recording *c, struct err *e) MUST_CHECK;

/* Synthesizes the names and mappings of running processes, before sampling begins. */
int recording_synthesize(struct recording *c, struct err *e) MUST_CHECK;

/* And what of it waits, right after. */
int recording_begin_waits(struct recording *c, struct err *e) MUST_CHECK;

/* Does an event sample data addresses? */
bool recording_has_addresses(const struct recording *c);

/* For ingest_opts.fetch; context: the struct recording. */
void recording_fetch(void *context, uint32_t pid);

#endif
