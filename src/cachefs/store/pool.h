/* SPDX-License-Identifier: MIT */
/*
 * pool: threads that call storage, so that the threads that serve FUSE do not block.
 *
 * Jobs run in order, those of high priority first. The pool starts a thread for a job that finds
 * none idle, up to its limit. Storage that hangs blocks the threads that called it, and no others.
 */
#ifndef CACHEFS_STORE_POOL_H
#define CACHEFS_STORE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fifo.h"
#include "base/macros.h"

struct job {
	struct fifo_link link;        /* the pool's */
	void (*run)(struct job *job); /* takes over the job */
};

struct pool;

struct pool *pool_new(unsigned max_threads) MUST_CHECK; /* NULL: out of memory */

/* Runs the queued jobs, ends the threads and frees the pool. False: a thread did not end within
 * timeout_ns; it may use the pool and its job until the process exits. */
bool pool_stop(struct pool *p, int64_t timeout_ns) MUST_CHECK;

/* high_priority: a process waits for it. -EAGAIN: no thread could be started. */
int pool_submit(struct pool *p, struct job *job, bool high_priority) MUST_CHECK;

#endif
