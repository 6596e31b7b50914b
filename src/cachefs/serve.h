/* SPDX-License-Identifier: MIT */
/*
 * serve: the threads that answer the kernel.
 *
 * As few of them read requests as keep up, at best one, which leaves a program that asks alone to
 * the companion. Who has to wait hands the reading on first.
 */
#ifndef CACHEFS_SERVE_H
#define CACHEFS_SERVE_H

#include <fuse_lowlevel.h>
#include <stdbool.h>

#include "base/err.h"

/*
 * Serves a mounted session until it is unmounted, or SIGTERM, SIGINT or SIGHUP comes (the last
 * not when it is ignored). The calling thread is the main one, and the first: all that are made
 * inherit that these are blocked. timeout_ns: of storage. *ret_hangs: a thread is still in it, and
 * uses all that it was given until the process ends.
 */
int serve_run(struct fuse_session *session, unsigned max_threads, int64_t timeout_ns,
	      bool *ret_hangs, struct err *e) MUST_CHECK;

/* All below: by a thread that answers a request; others may call them, and nothing happens. */

void serve_answers(fuse_req_t req); /* it is this that is being answered */
void serve_will_wait(void);         /* or take long */
bool serve_gives_up(void);          /* nobody waits for the answer any more */
/* Around asking storage itself. False: it must not. end: what its caller was told meanwhile. */
bool serve_begin_storage(void);
int serve_end_storage(void);
pid_t serve_asker(void); /* whose request it is: a thread of the machine; 0: unknown */

/* By the answer to the first request: files may be passed to the kernel. False: it cannot do that.
 */
bool serve_pass_through(void);

/* For who has another thread answer: a descriptor that the answer must be written to, the
 * caller's to close; -1: any will do, or out of them. */
int serve_take_fd(void);
void serve_answer_at(int fd); /* by that thread; -1: as usual again */

#endif
