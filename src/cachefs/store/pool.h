/* SPDX-License-Identifier: MIT */
/*
 * pool: threads that wait for storage, so that nobody else has to.
 *
 * Jobs are taken in order, urgent ones first. A thread is started for a job that finds none
 * idle, up to the limit; a storage that hangs keeps its threads and no others.
 */
#ifndef CACHEFS_STORE_POOL_H
#define CACHEFS_STORE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fifo.h"
#include "base/macros.h"

struct job {
	struct fifo_link link;        /* the pool's */
	void (*run)(struct job *job); /* owns the job from then on */
};

struct pool;

struct pool *pool_new(unsigned max_threads) MUST_CHECK; /* NULL: out of memory */

/* Runs what is queued, ends the threads and frees the pool: true. false: a thread did not end
 * within timeout_ns, and may use the pool and its job's data for ever. */
bool pool_stop(struct pool *p, int64_t timeout_ns) MUST_CHECK;

/* urgent: somebody waits for it. Fails with -EAGAIN when there is no thread at all. */
int pool_submit(struct pool *p, struct job *job, bool urgent) MUST_CHECK;

#endif
