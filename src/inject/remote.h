/* SPDX-License-Identifier: MIT */
/*
 * inside: system calls made by a held process itself. The folder's own.
 *
 * One thread of it runs lists of calls out of memory that it got for this; nothing of the program
 * (text, stack, libc) is touched. There are three lists:
 * - the steps: prepare, as often as needed; what they make is noted with remote_add_undo();
 * - go: what changes the process, all prepared; then finish: what cannot be taken back;
 * - back: all that was noted, the last first.
 * Should this process die, the job finishes by itself: back while the gate is REMOTE_ROLLBACK, go
 * and finish from the moment it is REMOTE_APPLY. The gate may be shared by many processes, so that
 * all take the same way; the threads of a process wait until it is through.
 *
 * Source: ../shared/spec/relocate.md 2.3 and 2.10.
 */
#ifndef INJECT_REMOTE_H
#define INJECT_REMOTE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "inject/arch.h"
#include "inject/freeze.h"

enum { REMOTE_ROLLBACK, REMOTE_APPLY, REMOTE_STEPS };

struct remote;

/* One call to be made. */
struct remote_call {
	long nr;
	uint64_t arg[6];
	uint64_t arg0_from; /* 0, or remote_result_at(): arg[0] is what that call returned; or the
			       address of an int, and 1 */
	uint64_t arg4_from; /* 0, or remote_result_at() */
	bool may_fail;
	const char *what; /* for the message when it fails; borrowed */
};

/* A process of h, with room for so many calls in all lists of all times (the way back is written
 * again after each round), and for data_bytes of what they point to. -ENOTSUP: 32-bit code, or a
 * seccomp filter that cannot be suspended. */
int remote_open(struct remote **ret, struct freeze *h, pid_t pid, size_t call_limit,
		size_t data_bytes, struct err *e) MUST_CHECK;

/* The process as it was before, with what its calls did; frees. NULL is allowed. */
void remote_close(struct remote *r);

pid_t remote_pid(const struct remote *r);
/* The address of a page that goes with the rest: something can be mapped over it. */
uint64_t remote_page(const struct remote *r);

/* Copies into the memory of the process. The address; 0: no room, and the next run fails. */
uint64_t remote_put(struct remote *r, const void *bytes, size_t len);
/* Memory of any address of the process. 0 or -errno. */
int remote_read(struct remote *r, uint64_t at, void *bytes, size_t len) MUST_CHECK;
int remote_write(struct remote *r, uint64_t at, const void *bytes, size_t len) MUST_CHECK;

/* Adds to the steps; returns the number of the step in this round. */
size_t remote_add_step(struct remote *r, const struct remote_call *call);
/* Where the result of a step of this round is, for the life of in. */
uint64_t remote_result_at(const struct remote *r, size_t step);
/* What takes back a step of this round. */
void remote_add_undo(struct remote *r, const struct remote_call *call);

/* Makes the steps of this round and begins the next; the first failure ends it. */
int remote_run_steps(struct remote *r, struct err *e) MUST_CHECK;
/* Of the round that was run last. */
int64_t remote_result(const struct remote *r, size_t step);

/* A thread that has calls of its own in go and finish; 0 is the one that makes all others.
 * Below 0: -errno. */
int remote_find_member(struct remote *r, pid_t tid, struct err *e) MUST_CHECK;
/* undo (NULL: none) takes the call back when it was made. */
void remote_add_apply(struct remote *r, int member, const struct remote_call *call,
		      const struct remote_call *undo);
void remote_add_finish(struct remote *r, int member, const struct remote_call *call);
/* To be made at the end of the way back, in this order. */
void remote_add_rollback_end(struct remote *r, const struct remote_call *call);

/* All lists are in the process and wait for the gate, a word at this address of it that is
 * REMOTE_ROLLBACK. From here on its other threads wait for the end. */
int remote_arm(struct remote *r, uint64_t flag, struct err *e) MUST_CHECK;

/* The gate is REMOTE_APPLY: makes the calls of go. A failure: those before it were made. */
int remote_run_apply(struct remote *r, struct err *e) MUST_CHECK;
/* Then finish. The first failure is told, the rest is done. */
int remote_run_finish(struct remote *r, struct err *e) MUST_CHECK;
/* Makes the way back ready from wherever it is; the gate is as it was. Then, with the gate on
 * REMOTE_ROLLBACK, goes it. The first failure is told, the rest is done. */
int remote_prepare_rollback(struct remote *r, struct err *e) MUST_CHECK;
int remote_run_rollback(struct remote *r, struct err *e) MUST_CHECK;

#endif
