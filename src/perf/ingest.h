/* SPDX-License-Identifier: MIT */
/*
 * ingest: adds the perf records of a recording, in time order, to a profile as samples.
 *
 * Ingest tracks the address spaces of processes and converts the call chain of each sample to a
 * stack of the profile at once, so it keeps nothing per sample. The first sample type is
 * samples/count (of the first event); then comes one type per event.
 *
 * Return addresses are stored less one, in both parts of a chain; the address of the interrupted
 * instruction is stored exactly. An address in no known mapping becomes "[unknown]".
 */
#ifndef PERF_INGEST_H
#define PERF_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "interp/interp.h"
#include "model/merge.h"
#include "model/profile.h"
#include "perf/dso.h"
#include "perf/offcpu_profile.h"
#include "perf/record.h"
#include "perf/user_stack.h"

#define INGEST_SLEEPS_MAX 4

/* What the samples of one event count. */
struct ingest_event {
	const char *type, *unit; /* sample type: "cpu" "nanoseconds", "page-faults" "count" */
	uint64_t period;         /* of a sample without one */
};

/* Off-CPU samples, in place of an event's index. */
enum {
	INGEST_LEAVE = PROFILE_MAX_TYPES, /* of each switch: a thread leaves its CPU */
	INGEST_LEAVE_DEEP, /* the same of some switches, with a larger copy of the stack */
	INGEST_WAKE,       /* a thread may run again */
};

/* A function: addresses [start..end). */
struct ingest_code {
	uint64_t start, end;
};

/* How off-CPU time is recorded. */
struct ingest_offcpu {
	bool is_on;              /* then the sample type offcpu/nanoseconds is added */
	bool is_summed;          /* all come by ingest_wait_sum() */
	uint32_t own_pid;        /* not to be counted; 0: none */
	uint64_t running;        /* bits of the events that sample CPU time, in nanoseconds */
	bool is_user_only;       /* the kernel's frames are left out */
	bool has_switch_fields;  /* the raw data of INGEST_LEAVE has, at these bytes: */
	size_t state_at, pid_at; /* the thread's state (8 bytes) and number (4) */
	bool has_wake_fields;
	size_t woken_at;                              /* of INGEST_WAKE: the thread's number (4) */
	struct ingest_code sleeps[INGEST_SLEEPS_MAX]; /* the kernel's, that waits for devices */
	size_t sleep_count;
};

#define INGEST_LABELS 8 /* labels that all samples may be given */

struct ingest_opts {
	struct dsos_opts dsos;           /* with the profile */
	const struct text_label *labels; /* [label_count]: of each sample; at most INGEST_LABELS */
	size_t label_count;
	bool has_cpu_label;
	bool has_addresses;     /* samples have a data address: label data */
	bool has_address_label; /* and the address itself: label address */
	bool has_times;         /* the profile gets the times of samples, too */
	unsigned max_frames;    /* chains of so many frames are cut; 0: unknown */
	uint16_t machine;       /* EM_X86_64, ...: of samples with a copy of the user's stack */
	struct ingest_offcpu waits;

	/* The location that replaces the kernel's frames of a sample's stack; 0: none. NULL: never.
	 */
	uint32_t (*leaf)(void *context, const struct record *r);
	void *leaf_context;

	/* Frames of an interpreter; NULL: none. Borrowed. */
	const struct interp_source *interp;

	/* Reads what the copy of a stack lacks, of processes that run. NULL: it stays truncated. */
	stack_rest_read *read_stack;

	/* Called for a process without a record, to pass its state by ingest_record(). NULL: never.
	 */
	void (*fetch)(void *context, uint32_t pid);
	void *context;
};

/* Samples in evaluation loops of an interpreter. */
struct ingest_interp_counts {
	uint64_t merged; /* with the frames of the language, of these */
	uint64_t misfit; /* some whose native frames fit them only as a whole */
	uint64_t native; /* without: shown by the interpreter's own frames */
};

struct ingest_counts {
	uint64_t samples;              /* of all events */
	uint64_t lost;                 /* samples that the kernel dropped */
	uint64_t lost_side;            /* other records that the kernel dropped */
	uint64_t throttled;            /* times the kernel paused an event */
	uint64_t cut;                  /* samples with max_frames frames */
	uint64_t unknown;              /* user frames in no known mapping */
	uint64_t bad;                  /* records that could not be decoded */
	struct user_stack_counts user; /* samples with a copy of the user's stack */
	struct offcpu_counts waits;
	struct ingest_interp_counts interp;
	uint64_t rated;      /* samples of the first event that stand for more than one */
	uint64_t ended;      /* threads */
	uint64_t unseen;     /* of them without one of these */
	uint64_t left_out;   /* samples of threads without a record: ingest_keep_known() */
	uint64_t lost_waits; /* records of waiting that the kernel dropped */
};

struct ingest;

/* Adds the sample types to the profile, which must be empty. NULL: out of memory. */
struct ingest *ingest_new(const struct ingest_opts *o, const struct ingest_event *events,
			  size_t event_count) MUST_CHECK;
void ingest_free(struct ingest *in);

/* What in knows of a recording that goes on: counts, and what ingest_keep_known() needs, which is
 * fetched (opts.fetch, into in). Samples that still wait in from are lost. 0 or -ENOMEM. */
int ingest_take_over(struct ingest *in, const struct ingest *from) MUST_CHECK;

/*
 * One record, in the order of time. event: which of the events a sample is of. Types that
 * say nothing about stacks are ignored. Fails for lack of memory only; profile_error() too
 * must be asked at the end.
 */
int ingest_record(struct ingest *in, const struct record *r, size_t event) MUST_CHECK;

/* Samples that were lost without a record of it; records of processes; a record
 * that could not be decoded. */
void ingest_count_lost(struct ingest *in, uint64_t count);
void ingest_count_lost_side(struct ingest *in, uint64_t count);
void ingest_count_bad(struct ingest *in);
void ingest_count_lost_waits(struct ingest *in, uint64_t count);

/* From this call on, drop (or keep) samples of threads without a record. */
void ingest_keep_known(struct ingest *in, bool is_on);

/* A thread that waits already at r->time; the sample may have its stack. 0 or -ENOMEM. */
int ingest_initial_wait(struct ingest *in, const struct record *r,
			enum offcpu_state state) MUST_CHECK;

/* The stack of the waits with this key; the first stack of a key holds. 0 or -ENOMEM. */
int ingest_wait_stack(struct ingest *in, const struct record *r, uint64_t key,
		      enum offcpu_signal signal) MUST_CHECK;
/* Waits of a key: their times, the state in before.state. 0 or -ENOMEM. */
int ingest_wait_sum(struct ingest *in, uint64_t key, uint32_t pid, uint32_t tid,
		    const struct offcpu_wait *times, uint64_t count) MUST_CHECK;

/* When waits of a key were: a part of its sum, that ends at end_ns. 0 or -ENOMEM. */
int ingest_wait_time(struct ingest *in, uint64_t key, uint32_t tid, const struct offcpu_wait *times,
		     uint64_t end_ns) MUST_CHECK;

/* Start and end of the period in which waits count. */
void ingest_begin_waits(struct ingest *in, uint64_t time_ns);
void ingest_end_waits(struct ingest *in, uint64_t time_ns);

/* Processes pending samples whose tables are ready. Call regularly. */
int ingest_poll(struct ingest *in) MUST_CHECK;

/* Waits for the tables of pending samples, and processes them. 0 or -ENOMEM. */
int ingest_settle(struct ingest *in) MUST_CHECK;

/* The stack of the sample that was added last, and 0 from then on; 0: none was added. */
uint32_t ingest_take_node(struct ingest *in);

const struct ingest_counts *ingest_counts(const struct ingest *in);
struct dsos *ingest_dsos(struct ingest *in);

/* The file with the n-th most broken stacks, and their number; "": no more. */
const char *ingest_worst(const struct ingest *in, size_t n, uint64_t *ret_count);

/* Waits for all samples, and adds the "[lost]" sample when there are any. The last call before
 * the profile is used. */
int ingest_finish(struct ingest *in) MUST_CHECK;

#endif
