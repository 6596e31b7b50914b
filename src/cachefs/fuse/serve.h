/* SPDX-License-Identifier: MIT */
/*
 * serve: the threads that read the kernel's requests, and serve or park them.
 *
 * None of them waits for storage, so a few suffice, and each just reads the next request. Replies
 * may come from any thread: all use the session's descriptor.
 */
#ifndef CACHEFS_FUSE_SERVE_H
#define CACHEFS_FUSE_SERVE_H

#include <fuse_lowlevel.h>
#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

struct serve_opts {
	unsigned threads; /* 0: one a CPU, up to 4 */

	/* A signal arrived; requests are served meanwhile. False: serve on. */
	bool (*ends)(void *context, int signal);

	/* At the end, while requests are still served: fails those that wait for storage, and stops
	 * the threads that send notifications, which wait for kernel locks that requests hold. */
	void (*end)(void *context);
	void *context;
};

/* Blocks the signals that unmount: SIGTERM, SIGINT, and SIGHUP unless it is ignored; and
 * UNMOUNT_IF_HANGING and SIGCHLD. The main thread calls it before the mount and before it creates
 * threads, which inherit the mask. */
void serve_block_signals(sigset_t *ret);

/* Serves a mounted session until it is unmounted or one of the signals arrives. For the main
 * thread. When it returns, no thread of it is left. */
int serve_run(struct fuse_session *session, const struct serve_opts *o, const sigset_t *signals,
	      struct err *e) MUST_CHECK;

/* In the reply to FUSE_INIT, by the thread that serves it. False: the kernel does not offer
 * passthrough. */
bool serve_enable_passthrough(void);

#endif
