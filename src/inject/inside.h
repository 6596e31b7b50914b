/* SPDX-License-Identifier: MIT */
/*
 * inside: system calls made by a held process itself. The folder's own.
 *
 * One thread of it runs lists of calls out of memory that it got for this; nothing of the program
 * (text, stack, libc) is touched. There are three lists:
 * - the steps: prepare, as often as needed; what they make is noted with inside_undo();
 * - go: what changes the process, all prepared; then finish: what cannot be taken back;
 * - back: all that was noted, the last first.
 * Should this process die, the job finishes by itself: back while the gate is INSIDE_BACK, go and
 * finish from the moment it is INSIDE_GO. The gate may be shared by many processes, so that all
 * take the same way; the threads of a process wait until it is through.
 *
 * Source: ../shared/spec/relocate.md 2.3 and 2.10.
 */
#ifndef INJECT_INSIDE_H
#define INJECT_INSIDE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "inject/arch.h"
#include "inject/hold.h"

enum { INSIDE_BACK, INSIDE_GO, INSIDE_STEPS };

struct inside;

/* One call to be made. */
struct inside_call {
	long nr;
	uint64_t arg[6];
	uint64_t arg0_from; /* 0, or inside_result_at(): arg[0] is what that call returned; or the
			       address of an int, and 1 */
	uint64_t arg4_from; /* 0, or inside_result_at() */
	bool may_fail;
	const char *what; /* for the message when it fails; borrowed */
};

/* A process of h, with room for so many calls in all lists of all times (the way back is written
 * again after each round), and for data_bytes of what they point to. -ENOTSUP: 32-bit code, or a
 * seccomp filter that cannot be suspended. */
int inside_open(struct inside **ret, struct hold *h, pid_t pid, size_t call_limit,
		size_t data_bytes, struct err *e) MUST_CHECK;

/* The process as it was before, with what its calls did; frees. NULL is allowed. */
void inside_close(struct inside *in);

pid_t inside_pid(const struct inside *in);
/* The address of a page that goes with the rest: something can be mapped over it. */
uint64_t inside_page(const struct inside *in);

/* Copies into the memory of the process. The address; 0: no room, and the next run fails. */
uint64_t inside_put(struct inside *in, const void *bytes, size_t len);
/* Memory of any address of the process. 0 or -errno. */
int inside_read(struct inside *in, uint64_t at, void *bytes, size_t len) MUST_CHECK;
int inside_write(struct inside *in, uint64_t at, const void *bytes, size_t len) MUST_CHECK;

/* Adds to the steps; returns the number of the step in this round. */
size_t inside_step(struct inside *in, const struct inside_call *call);
/* Where the result of a step of this round is, for the life of in. */
uint64_t inside_result_at(const struct inside *in, size_t step);
/* What takes back a step of this round. */
void inside_undo(struct inside *in, const struct inside_call *call);

/* Makes the steps of this round and begins the next; the first failure ends it. */
int inside_run(struct inside *in, struct err *e) MUST_CHECK;
/* Of the round that was run last. */
int64_t inside_result(const struct inside *in, size_t step);

/* A thread that has calls of its own in go and finish; 0 is the one that makes all others.
 * Below 0: -errno. */
int inside_member(struct inside *in, pid_t tid, struct err *e) MUST_CHECK;
/* undo (NULL: none) takes the call back when it was made. */
void inside_go(struct inside *in, int member, const struct inside_call *call,
	       const struct inside_call *undo);
void inside_finish(struct inside *in, int member, const struct inside_call *call);
/* To be made at the end of the way back, in this order. */
void inside_back_end(struct inside *in, const struct inside_call *call);

/* All lists are in the process and wait for the gate, a word at this address of it that is
 * INSIDE_BACK. From here on its other threads wait for the end. */
int inside_arm(struct inside *in, uint64_t gate, struct err *e) MUST_CHECK;

/* The gate is INSIDE_GO: makes the calls of go. A failure: those before it were made. */
int inside_run_go(struct inside *in, struct err *e) MUST_CHECK;
/* Then finish. The first failure is told, the rest is done. */
int inside_run_finish(struct inside *in, struct err *e) MUST_CHECK;
/* Makes the way back ready from wherever it is; the gate is as it was. Then, with the gate on
 * INSIDE_BACK, goes it. The first failure is told, the rest is done. */
int inside_prepare_back(struct inside *in, struct err *e) MUST_CHECK;
int inside_run_back(struct inside *in, struct err *e) MUST_CHECK;

#endif
