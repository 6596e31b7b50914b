/* SPDX-License-Identifier: MIT */
/*
 * serve: the threads that answer the kernel.
 *
 * As few of them read requests as keep up, at best one, which leaves programs that ask without a
 * pause to companions. Who has to wait hands the reading on first.
 */
#ifndef CACHEFS_FUSE_SERVE_H
#define CACHEFS_FUSE_SERVE_H

#include <fuse_lowlevel.h>
#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

struct serve_opts {
	unsigned max_threads;
	int64_t timeout_ns; /* of storage */

	/* It is over: ends threads that tell the kernel something. That waits for locks of the
	 * kernel's, which requests have: they are still answered, but wait for storage no more. */
	void (*end)(void *context);
	void *context;
};

/* What ends a mount: SIGTERM, SIGINT, and SIGHUP unless it is ignored. Before there is something to
 * end, by the main thread, and before it makes others: they inherit that these are blocked. */
void serve_block_signals(sigset_t *ret);

/*
 * Serves a mounted session until it is unmounted, or one of the signals comes. By the main thread.
 * *ret_hangs: a thread is still in storage, and uses all that it was given until the process ends.
 */
int serve_run(struct fuse_session *session, const struct serve_opts *o, const sigset_t *signals,
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
 * caller's to close; -1: any will do. Fails when there are no more of them: -EMFILE. */
int serve_take_fd(int *ret) MUST_CHECK;
void serve_answer_at(int fd); /* by that thread; -1: as usual again */

#endif
