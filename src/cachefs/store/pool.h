/* SPDX-License-Identifier: MIT */
/*
 * pool: threads that call storage, so that no other thread blocks.
 *
 * Each file system (st_dev) has its own queue, served in turn, so that one that hangs holds up no
 * other. In a queue, jobs run in order, those of high priority first. The pool starts a thread for
 * a job that finds none idle. At most max_threads jobs of a file system run at once. A job that has
 * run for longer than the timeout hangs: it no longer counts, and another thread takes its place.
 * While max_threads jobs of a file system hang, its queue is closed: no further job runs, and new
 * ones are refused.
 */
#ifndef CACHEFS_STORE_POOL_H
#define CACHEFS_STORE_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fifo.h"
#include "base/macros.h"

struct job {
	struct fifo_link link;        /* the pool's */
	void (*run)(struct job *job); /* takes over the job */
	bool is_refused;              /* set for run: it must not call storage */
	bool is_local;                /* it calls no storage, and may take long */
};

struct pool;

struct pool *pool_new(unsigned max_threads, int64_t timeout_ns) MUST_CHECK; /* NULL: no memory */

/* Refuses the queued jobs, ends the threads and frees the pool. False: a thread did not end within
 * timeout_ns; it may use the pool and its job until the process exits. */
bool pool_stop(struct pool *p, int64_t timeout_ns) MUST_CHECK;

/* device: the file system; 0: not known. -EAGAIN: no thread could be started. -EIO: the queue is
 * closed. */
int pool_submit(struct pool *p, struct job *job, dev_t device, bool high_priority) MUST_CHECK;

/* Notes which jobs hang. Returns when to call it again, by CLOCK_MONOTONIC; INT64_MAX: nothing
 * runs. It runs jobs that it refuses. */
int64_t pool_check(struct pool *p, int64_t now_ns);

unsigned pool_hanging(struct pool *p); /* jobs that hang */

#endif
