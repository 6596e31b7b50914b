/* SPDX-License-Identifier: MIT */
/*
 * cpu: records where CPU time (or any event) goes: of a command, of running processes, or
 * of the whole machine.
 *
 * cpu_new() makes everything ready, the command too, which waits; cpu_run() lets it run and
 * records until it ends; the files that the profile's addresses lie in stay open until
 * cpu_free(), to be symbolised. One thread does it all.
 */
#ifndef SAMPLE_CPU_H
#define SAMPLE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"
#include "perf/ingest.h"
#include "sample/attr.h"
#include "sample/events.h"
#include "target/cpulist.h"

#define CPU_EVENTS_MAX 16

/* How waiting is found out. */
enum cpu_waits {
	CPU_WAITS_BEST,     /* by BPF; where that may not be, by perf, and LOG_WARN tells why */
	CPU_WAITS_BPF,      /* summed in the kernel (waiting.h) */
	CPU_WAITS_SWITCHES, /* a record of each switch (switches.h) */
};

struct cpu_opts {
	struct event events[CPU_EVENTS_MAX];
	size_t event_count;    /* 0: cycles, or what stands in for them */
	uint64_t frequency_hz; /* 0: by period */
	uint64_t period;       /* 0: by frequency */
	enum stack_mode stack;
	uint32_t stack_bytes; /* STACK_DWARF: to copy, a multiple of 8 */
	bool is_user_only, is_kernel_only;
	bool has_cpu_label, has_address_label;
	bool has_off_cpu;           /* waiting is told, too: the sample type offcpu/nanoseconds, */
	enum cpu_waits waits;       /* found out in this way */
	const struct cpulist *cpus; /* only these; NULL: all that run; borrowed */

	/* Who: one of the three. Borrowed. */
	char *const *argv; /* a command, ends with NULL */
	const pid_t *pids; /* [pid_count] */
	size_t pid_count;
	bool is_all;
	bool owns_stdout; /* the command's standard output goes to standard error */

	int64_t duration_ns; /* ends it; 0: no limit */
	const char *raw;     /* path of a perf.data file that gets all records; NULL: none */

	/* Called ten times a second and more, with all samples up to then in the profile; false
	 * ends the recording. NULL: nothing. */
	bool (*tick)(void *context);
	void *tick_context;

	/* Sees each record first; see sampler_opts. NULL: nothing does. */
	bool (*tap)(void *context, const struct record *r, bool is_side);
	void *tap_context;
	/* Samples are the tap's alone: they tell their time and the fields of their tracepoint,
	 * which have the type and the thread; these cost the least. Without stacks. */
	bool is_raw_only;
	/* See ingest_opts; context is the tap's. */
	uint32_t (*leaf)(void *context, const struct record *r);
};

struct cpu_result {
	int status;       /* of the command: exit status, 128+N for signal N */
	int64_t start_ns; /* CLOCK_REALTIME */
	int64_t duration_ns;
	int64_t target_ns; /* CPU time of the command and its children; 0: unknown */
	int64_t own_ns;    /* CPU time that recording took */
	struct ingest_counts counts;
};

struct cpu;

/*
 * Adds the sample types to the profile, which must be empty and outlive it. -EINVAL: wrong
 * options. What is not to be had here is replaced, and said by LOG_WARN.
 */
int cpu_new(const struct cpu_opts *o, struct profile *p, struct cpu **ret,
	    struct err *e) MUST_CHECK;

/* Until the command or the processes end, the time is over, or a signal ends it: the first is
 * passed on to the command, the second leaves it (runloop.h). */
int cpu_run(struct cpu *c, struct cpu_result *ret, struct err *e) MUST_CHECK;

/* Makes the raw file complete, after cpu_run(). Nothing when there is none. */
int cpu_finish_raw(struct cpu *c, struct err *e) MUST_CHECK;

/* The errno of a command that could not be executed; 0: that is not why cpu_run() failed. */
int cpu_exec_error(const struct cpu *c);

/* For struct symbolize_opts. Owned by c. NULL: out of memory. */
const char *const *cpu_files(struct cpu *c);

/* The file in which the most stacks broke off, n-th from the worst; "" when there is none. */
const char *cpu_worst(const struct cpu *c, size_t n, uint64_t *ret_count);

/* What is recorded: the first event, and what of it (for people). */
const struct event *cpu_event(const struct cpu *c, size_t i);
size_t cpu_event_count(const struct cpu *c);
size_t cpu_cpu_count(const struct cpu *c);
bool cpu_has_kernel(const struct cpu *c);
/* What was to be had of waiting: where, why. */
bool cpu_has_wait_stacks(const struct cpu *c);
bool cpu_has_wait_states(const struct cpu *c);
uint64_t cpu_frequency(const struct cpu *c);   /* 0: by period */
uint32_t cpu_stack_bytes(const struct cpu *c); /* copied; less than asked for in small rings */

void cpu_free(struct cpu *c);

#endif
