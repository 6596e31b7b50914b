/* SPDX-License-Identifier: MIT */
/*
 * session: one set of control files, with its timers, its collected samples and their readers.
 *
 * Timers fire (optimer) and samples are collected (opstart) independently of each other, core by
 * core. A collected sample goes to the queue of kpoprofile, to all streams and to the profile; the
 * histogram of kpdata (start) counts every sample. Samples of this process are dropped.
 */
#ifndef CTLFS_SESSION_H
#define CTLFS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "ctlfs/command.h"
#include "ctlfs/histogram.h"
#include "ctlfs/journal.h"
#include "ctlfs/processes.h"
#include "ctlfs/queue.h"
#include "sample/tracer.h"
#include "target/cpulist.h"

#define SESSION_PERIOD_US 1000
#define SESSION_DEPTH 127
#define SESSION_QUEUE_BYTES ((uint64_t)64 << 20)
#define SESSION_STREAM_BYTES ((uint64_t)16 << 20)

struct core_state {
	bool is_timer_on; /* by optimer */
	bool is_tracing;
	uint64_t traced_from; /* nanoseconds; earlier samples are dropped */
	uint64_t samples, lost, throttled;
};

/* A reader of stream, since its open. */
struct stream {
	struct stream *next;
	struct queue queue; /* of one core */
	pid_t pid;          /* of the reader */
	bool was_stopped;   /* collection has ended: the end of the file follows the rest */
};

struct session {
	struct session *next;
	uint64_t id;   /* 0: the first, at the top */
	char name[64]; /* "" for the first */
	const struct cpulist *known;
	struct journal *journal;
	struct tracer *tracer;
	struct core_state *cores; /* [known->count] */
	struct queue queue;
	struct stream *streams;
	struct histogram histogram;
	struct processes processes;
	bool is_counting; /* the histogram */
	bool is_started;  /* by start, which arms all timers */
	bool has_user;    /* callers in user code are kept */
	uint64_t period_us, depth, autostop_s;
	int64_t stop_ns;     /* clock_mono_ns() when autostop is due; 0: never */
	uint64_t own;        /* dropped samples of this process */
	uint64_t unprofiled; /* samples dropped because the profile is full */
	int64_t start_ns;    /* clock_mono_ns() */
	struct buf sample;   /* scratch */
};

/* known, journal: borrowed. Fails as tracer_new() does. */
int session_new(uint64_t id, const char *name, enum tracer_event event, const struct cpulist *known,
		struct journal *journal, struct session **ret, struct err *e) MUST_CHECK;
void session_free(struct session *s);

/* Runs lines of commands: all, or none when one is wrong. file: for the journal. core: of
 * cpu/N/ctl, or -1. */
int session_command(struct session *s, const char *file, int64_t core, const char *text, size_t len,
		    struct err *e) MUST_CHECK;

/* Drains the samples; applies autostop. */
void session_poll(struct session *s);
void session_poll_all(struct session *s); /* drains all samples so far */

bool session_is_tracing(const struct session *s, size_t core); /* QUEUE_ALL: any */

/* Adds a mark, one address that a program wrote to kpoprofile. -EINVAL: not an address, or not
 * collecting. */
int session_mark(struct session *s, const char *text, size_t len, struct err *e) MUST_CHECK;

/* NULL: out of memory. Owned by the session until session_close_stream(). */
struct stream *session_open_stream(struct session *s, pid_t pid) MUST_CHECK;
void session_close_stream(struct session *s, struct stream *stream);

/* The text of status; and of cpu/N/status. */
void session_put_status(const struct session *s, struct buf *out);
void session_put_core_status(const struct session *s, size_t core, struct buf *out);

#endif
