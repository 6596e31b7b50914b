/* SPDX-License-Identifier: MIT */
/*
 * remote: system calls that a frozen process makes itself.
 *
 * It serves relocate, which repoints descriptors and mappings, and other users that need a call in
 * another process. One thread of the process runs lists of calls from memory that was mapped for
 * this. Text, stack and libc of the program stay untouched.
 *
 * There are three lists:
 * - steps prepare, as often as needed; remote_add_undo() notes what takes them back;
 * - apply changes the process as prepared; then finish does what cannot be taken back;
 * - rollback runs all noted undo calls, the last first.
 *
 * The commit flag selects the list: REMOTE_ROLLBACK, or REMOTE_APPLY for apply and finish. If this
 * process dies, the threads run the selected list to its end and resume their program. Many
 * processes may share one commit flag, so that all of them commit or none. The other threads of a
 * process wait until its list has ended.
 *
 * Source: ptrace(2), futex(2).
 */
#ifndef INJECT_REMOTE_H
#define INJECT_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "inject/arch.h"
#include "inject/freeze.h"

enum { REMOTE_ROLLBACK, REMOTE_APPLY, REMOTE_STEPS };

struct remote;

/* One system call. */
struct remote_call {
	long nr;
	uint64_t arg[6];
	uint64_t arg0_from; /* arg[0] is read from here: remote_result_at(), or the address of an
			       int with bit 0 set; 0: arg[0] itself */
	uint64_t arg4_from; /* the same for arg[4]: remote_result_at() or 0 */
	bool may_fail;
	const char *what; /* for the error message; borrowed */
};

/* Prepares a process of h for remote calls. call_limit: calls in all lists of all rounds; each
 * round writes the rollback list again. data_bytes: of what the calls point to. spares: threads to
 * add to the process; see remote_spare(). -ENOTSUP: 32-bit code, or a seccomp filter that cannot be
 * suspended. */
int remote_open(struct remote **ret, struct freeze *h, pid_t pid, size_t call_limit,
		size_t data_bytes, size_t spares, struct err *e) MUST_CHECK;

/*
 * The number of a member for calls that storage may keep for ever, number i of them: close(2) and
 * dup3(2) first change the descriptor, then write out what was written. It is a thread that was
 * added for this and can be lost: the process does not wait for it. 0: none was added.
 */
int remote_spare(const struct remote *r, size_t i);
/* Adds a call that takes back a step, made by a member. */
void remote_add_undo_of(struct remote *r, int member, const struct remote_call *call);
/* Are spare threads still in a call? */
bool remote_has_lost(const struct remote *r);

/* Removes everything that remote_open() added, keeps what the calls did, and frees r. NULL is
 * allowed. */
void remote_close(struct remote *r);

pid_t remote_pid(const struct remote *r);
/* The address of a spare page, over which the caller may map something. */
uint64_t remote_page(const struct remote *r);

/* Copies bytes into the process. Returns their address; 0: no space, and the next run fails. */
uint64_t remote_put(struct remote *r, const void *bytes, size_t len);
/* Any memory of the process. 0 or -errno. */
int remote_read(struct remote *r, uint64_t at, void *bytes, size_t len) MUST_CHECK;
int remote_write(struct remote *r, uint64_t at, const void *bytes, size_t len) MUST_CHECK;

/* Adds a step. Returns its number in this round. */
size_t remote_add_step(struct remote *r, const struct remote_call *call);
/* The address of the result of a step of this round, valid as long as r. */
uint64_t remote_result_at(const struct remote *r, size_t step);
/* Adds a call that takes back a step of this round. */
void remote_add_undo(struct remote *r, const struct remote_call *call);

/* Runs the steps of this round, if there are any, and begins the next round. The first failure ends
 * it. */
int remote_run_steps(struct remote *r, struct err *e) MUST_CHECK;
/* The result of a step of the round that ran last. */
int64_t remote_result(const struct remote *r, size_t step);

/* Calls a function of the process with three arguments, in its first thread, which must not be
 * where the function cannot be entered again; the other threads may run. Its signals are blocked
 * meanwhile, and its registers come back, even when this process has died. No round may be begun.
 * -ENOTSUP: not on this processor. Waits as long as it takes. */
int remote_call_function(struct remote *r, uint64_t address, const uint64_t arg[3],
			 uint64_t *ret_result, struct err *e) MUST_CHECK;

/* The number of a thread with apply and finish lists of its own; thread 0 makes all other calls.
 * Below 0: -errno. */
int remote_find_member(struct remote *r, pid_t tid, struct err *e) MUST_CHECK;
/* undo takes the call back after it was made; NULL: nothing does. */
void remote_add_apply(struct remote *r, int member, const struct remote_call *call,
		      const struct remote_call *undo);
void remote_add_finish(struct remote *r, int member, const struct remote_call *call);
/* Adds a call to the end of the rollback list, in this order. */
void remote_add_rollback_end(struct remote *r, const struct remote_call *call);

/* Writes all lists. flag: the address of the commit flag, which is REMOTE_ROLLBACK. From here on
 * the other threads of the process wait for the end of the list. */
int remote_arm(struct remote *r, uint64_t flag, struct err *e) MUST_CHECK;

/* With the flag at REMOTE_APPLY: runs the apply list up to the first failure. */
int remote_run_apply(struct remote *r, struct err *e) MUST_CHECK;
/* Then runs the finish list to its end. e is the first failure. */
int remote_run_finish(struct remote *r, struct err *e) MUST_CHECK;
/* The first prepares the rollback list at any point and leaves the flag. The second runs it to its
 * end, with the flag at REMOTE_ROLLBACK; e is the first failure. */
int remote_prepare_rollback(struct remote *r, struct err *e) MUST_CHECK;
int remote_run_rollback(struct remote *r, struct err *e) MUST_CHECK;

#endif
