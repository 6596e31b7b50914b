/* SPDX-License-Identifier: MIT */
/*
 * cpu: records where CPU time (or any event) goes: of a command, of running processes, or
 * of the whole machine.
 *
 * recording_new() makes everything ready, the command too, which waits; recording_run() lets it run
 * and records until it ends; the files that the profile's addresses lie in stay open until
 * recording_free(), to be symbolised. One thread does it all.
 */
#ifndef SAMPLE_RECORDING_H
#define SAMPLE_RECORDING_H

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

#define RECORDING_EVENTS_MAX 16

/* How waiting is found out. */
enum offcpu_method {
	OFFCPU_METHOD_BEST, /* by BPF; where that may not be, by perf, and LOG_WARN tells why */
	OFFCPU_METHOD_BPF,  /* summed in the kernel (waiting.h) */
	OFFCPU_METHOD_PERF, /* a record of each switch (switches.h) */
};

struct recording_opts {
	struct event events[RECORDING_EVENTS_MAX];
	size_t event_count;    /* 0: cycles, or what stands in for them */
	uint64_t frequency_hz; /* 0: by period */
	uint64_t period;       /* 0: by frequency */
	enum stack_mode stack;
	uint32_t stack_bytes; /* STACK_DWARF: to copy, a multiple of 8 */
	bool is_user_only, is_kernel_only;
	bool has_cpu_label, has_address_label;
	bool has_off_cpu; /* waiting is told, too: the sample type offcpu/nanoseconds, */
	enum offcpu_method offcpu_method; /* found out in this way */
	const struct cpulist *cpus;       /* only these; NULL: all that run; borrowed */

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

struct recording_result {
	int status;       /* of the command: exit status, 128+N for signal N */
	int64_t start_ns; /* CLOCK_REALTIME */
	int64_t duration_ns;
	int64_t target_ns; /* CPU time of the command and its children; 0: unknown */
	int64_t own_ns;    /* CPU time that recording took */
	struct ingest_counts counts;
};

struct recording;

/*
 * Adds the sample types to the profile, which must be empty and outlive it. -EINVAL: wrong
 * options. What is not to be had here is replaced, and said by LOG_WARN.
 */
int recording_new(const struct recording_opts *o, struct profile *p, struct recording **ret,
		  struct err *e) MUST_CHECK;

/* Until the command or the processes end, the time is over, or a signal ends it: the first is
 * passed on to the command, the second leaves it (runloop.h). */
int recording_run(struct recording *c, struct recording_result *ret, struct err *e) MUST_CHECK;

/* Makes the raw file complete, after recording_run(). Nothing when there is none. */
int recording_finish_raw(struct recording *c, struct err *e) MUST_CHECK;

/* The errno of a command that could not be executed; 0: that is not why recording_run() failed. */
int recording_exec_error(const struct recording *c);

/* For struct symbolize_opts. Owned by c. NULL: out of memory. */
const char *const *recording_files(struct recording *c);

/* The file in which the most stacks broke off, n-th from the worst; "" when there is none. */
const char *recording_worst(const struct recording *c, size_t n, uint64_t *ret_count);

/* What is recorded: the first event, and what of it (for people). */
const struct event *recording_event(const struct recording *c, size_t i);
size_t recording_event_count(const struct recording *c);
size_t recording_cpu_count(const struct recording *c);
bool recording_has_kernel(const struct recording *c);
/* What was to be had of waiting: where, why. */
bool recording_has_wait_stacks(const struct recording *c);
bool recording_has_wait_states(const struct recording *c);
uint64_t recording_frequency(const struct recording *c); /* 0: by period */
uint32_t recording_stack_bytes(
	const struct recording *c); /* copied; less than asked for in small rings */

void recording_free(struct recording *c);

#endif
