/* SPDX-License-Identifier: MIT */
/* profiling_inside: what the files of profiling share. */
#ifndef CACHEFS_PROFILE_PROFILING_INTERNAL_H
#define CACHEFS_PROFILE_PROFILING_INTERNAL_H

#include <pthread.h>

#include "base/fifo.h"
#include "cachefs/profile/profiling.h"
#include "cachefs/profile/table_dumps.h"

#define PROFILING_COMMANDS 25 /* that are known */

struct profiling {
	struct profiling_opts opts; /* this and the next three: written before start */
	struct profile_config config;
	struct cache *cache;
	struct metrics *metrics;
	_Atomic uint64_t command_counts[PROFILING_COMMANDS]; /* by place in the table of orders */

	pthread_mutex_t write_lock;
	struct timeline timeline; /* under write_lock */

	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct fifo orders; /* this and closing: under lock */
	bool closing;
	pthread_t thread;
	bool has_thread; /* its owner's */
};

/* One text file of the job; text is empty then. */
int profiling_put_file(struct profiling *p, enum job_folder folder, const char *tag,
		       const char *base, struct buf *text, struct err *e) MUST_CHECK;

/* The time line goes on to this moment. */
void profiling_add_step(struct profiling *p);

#endif
