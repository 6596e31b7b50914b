/* SPDX-License-Identifier: MIT */
/*
 * serve: the worker threads that read and serve the kernel's requests.
 *
 * As few workers read as keep up, at best one, which leaves callers without pauses to companions. A
 * worker that is going to block first wakes another reader.
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

	/* At the end: stops the threads that send notifications. A notification waits for kernel
	 * locks that requests hold, so requests are still served, but no longer wait for storage.
	 */
	void (*end)(void *context);
	void *context;
};

/* Blocks the signals that unmount: SIGTERM, SIGINT, and SIGHUP unless it is ignored. The main
 * thread calls it before the mount and before it creates threads, which inherit the mask. */
void serve_block_signals(sigset_t *ret);

/*
 * Serves a mounted session until it is unmounted or one of the signals arrives. For the main
 * thread. *ret_hangs: a thread is still in a storage call, and uses its data until the process
 * exits.
 */
int serve_run(struct fuse_session *session, const struct serve_opts *o, const sigset_t *signals,
	      bool *ret_hangs, struct err *e) MUST_CHECK;

/* All below: for a worker that serves a request; in other threads they do nothing. */

void serve_set_request(fuse_req_t req); /* the request that it serves */
void serve_will_wait(void);             /* it is going to block, or to take long */
bool serve_is_interrupted(void);        /* the caller was killed, or the mount ends */
/* Around a storage call in the worker itself; see struct inflight_hooks. */
bool serve_begin_storage(void);
int serve_end_storage(void);
pid_t serve_caller(void); /* the thread that made the request; 0: unknown */

/* In the reply to FUSE_INIT. False: the kernel does not offer passthrough. */
bool serve_enable_passthrough(void);

/* Lets another thread reply. *ret: the descriptor that must carry the reply, for that thread to
 * close; -1: any. -EMFILE: out of descriptors. */
int serve_dup_fd(int *ret) MUST_CHECK;
void serve_set_reply_fd(int fd); /* in that thread; -1: undo */

#endif
