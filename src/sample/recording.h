/* SPDX-License-Identifier: MIT */
/*
 * recording: samples CPU time, or any event, of a command, of running processes, or of the machine.
 *
 * recording_new() opens the events and forks the command, which waits before its exec.
 * recording_run() starts it and records until it ends. The mapped files stay open until
 * recording_free(), so that they can be symbolized. One thread does it all.
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
#include "sample/python/python.h"
#include "target/cpulist.h"

#define RECORDING_EVENTS_MAX 16

/* How off-CPU time is measured. */
enum offcpu_method {
	OFFCPU_METHOD_BEST, /* by BPF; without BPF by perf, and LOG_WARN has the reason */
	OFFCPU_METHOD_BPF,  /* summed in the kernel (waiting.h) */
	OFFCPU_METHOD_PERF, /* a record of each switch (switches.h) */
};

/* Frames of Python. */
enum python_mode {
	PYTHON_AUTO, /* by BPF at the moment of the sample; else as PYTHON_READ */
	PYTHON_READ, /* read from the process' memory, a little later */
	PYTHON_OFF,
};

struct recording;

struct recording_opts {
	struct event events[RECORDING_EVENTS_MAX];
	size_t event_count;    /* 0: cycles, or what stands in for them */
	uint64_t frequency_hz; /* 0: by period */
	uint64_t period;       /* 0: by frequency */
	enum stack_mode stack;
	uint32_t stack_bytes; /* STACK_DWARF: to copy, a multiple of 8 */
	bool is_user_only, is_kernel_only;
	const struct text_label
		*labels; /* [label_count]: of each sample, of INGEST_LABELS; borrowed */
	size_t label_count;
	bool has_cpu_label, has_address_label;
	bool has_times;   /* the profile gets the times of samples, too */
	bool has_off_cpu; /* records off-CPU time, too: the sample type offcpu/nanoseconds */
	enum offcpu_method offcpu_method; /* of has_off_cpu */
	const struct cpulist *cpus;       /* only these; NULL: all that run; borrowed */

	/* What to sample: one of the three. Borrowed. */
	char *const *argv; /* a command, ends with NULL */
	const pid_t *pids; /* [pid_count] */
	size_t pid_count;
	bool is_all;
	bool owns_stdout; /* the command's standard output goes to standard error */

	enum python_mode python;
	bool has_gil;    /* of Python: the label "gil"; with has_off_cpu */
	bool has_native; /* of Python: shows the interpreter's own frames, too */

	int64_t duration_ns; /* ends it; 0: no limit */
	const char *raw;     /* path of a perf.data file for all records; NULL: none */

	/* Called at least ten times a second, with all samples so far in the profile; false ends
	 * the recording. NULL: none. */
	bool (*tick)(void *context);
	void *tick_context;

	/* Called when SIGUSR1 or SIGUSR2 comes, in the same state. NULL: nothing. */
	void (*snapshot)(void *context, struct recording *c);
	void *snapshot_context;

	/* Sees each record first; see sampler_opts. NULL: none. */
	bool (*tap)(void *context, const struct record *r, bool is_side);
	void *tap_context;
	/* Samples have only their time and raw data, for the tap: the cheapest ones. No stacks. */
	bool is_raw_only;
	/* See ingest_opts; called with tap_context. */
	uint32_t (*leaf)(void *context, const struct record *r);
};

struct recording_result {
	int status;       /* of the command: exit status, 128+N for signal N */
	int64_t start_ns; /* CLOCK_REALTIME */
	int64_t duration_ns;
	int64_t target_ns; /* CPU time of the command and its children; 0: unknown */
	int64_t own_ns;    /* CPU time of this process */
	struct ingest_counts counts;
	struct python_counts python;
};

/*
 * Adds the sample types to the profile, which must be empty and outlive it. -EINVAL: wrong options.
 * LOG_WARN reports what the machine lacks and its substitute.
 */
int recording_new(const struct recording_opts *o, struct profile *p, struct recording **ret,
		  struct err *e) MUST_CHECK;

/* Until the command or the processes end, the time is over, or a signal ends it: the first is
 * passed on to the command, the second leaves it (runloop.h). */
int recording_run(struct recording *c, struct recording_result *ret, struct err *e) MUST_CHECK;

/*
 * Forgets what was sampled, and all that was kept for it (names, mappings, tables, files), and goes
 * on with p: an empty profile, which then has the sample types and outlives c. For opts.tick only,
 * and not with has_off_cpu. On failure all is as before.
 */
int recording_renew(struct recording *c, struct profile *p, struct err *e) MUST_CHECK;

/* Completes the raw file, after recording_run(). Does nothing without one. */
int recording_finish_raw(struct recording *c, struct err *e) MUST_CHECK;

/* The errno of a failed exec; 0: recording_run() failed for another reason. */
int recording_exec_error(const struct recording *c);

/* For struct symbolize_opts. Owned by c. NULL: out of memory. */
const char *const *recording_files(struct recording *c);

/* The file with the n-th most broken stacks; "": none. */
const char *recording_worst(const struct recording *c, size_t n, uint64_t *ret_count);

/* What is recorded, for messages. */
const struct event *recording_event(const struct recording *c, size_t i);
size_t recording_event_count(const struct recording *c);
size_t recording_cpu_count(const struct recording *c);
bool recording_has_kernel(const struct recording *c);
/* Do off-CPU samples have stacks, and states? */
bool recording_has_wait_stacks(const struct recording *c);
bool recording_has_wait_states(const struct recording *c);
uint64_t recording_frequency(const struct recording *c); /* 0: by period */
uint32_t recording_stack_bytes(
	const struct recording *c); /* copied; less than requested when rings are small */

void recording_free(struct recording *c);

#endif
