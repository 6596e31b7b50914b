/* SPDX-License-Identifier: MIT */
/* profiling_internal: what the source files of profiling share. */
#ifndef CACHEFS_PROFILE_PROFILING_INTERNAL_H
#define CACHEFS_PROFILE_PROFILING_INTERNAL_H

#include <pthread.h>

#include "base/fifo.h"
#include "cachefs/profile/profiling.h"
#include "cachefs/profile/table_dumps.h"

#define PROFILING_COMMANDS 25

struct profiling {
	struct profiling_opts opts; /* this and the next three: written before start */
	struct profile_config config;
	struct cache *cache;
	struct metrics *metrics;
	_Atomic uint64_t command_counts[PROFILING_COMMANDS]; /* by index in the table of commands */

	pthread_mutex_t write_lock;
	struct timeline timeline; /* under write_lock */

	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct fifo commands; /* this and closing: under lock */
	bool closing;
	char reason[CONTROL_REASON_MAX]; /* why the last command failed; "": none did; under lock */
	pthread_t thread;
	bool has_thread; /* its owner's */
};

/* Logs why a file is missing, and keeps it for control_stats. */
void profiling_note_failure(struct profiling *p, const struct err *e);

/* Writes one text file of the job, and clears text. */
int profiling_put_file(struct profiling *p, enum job_folder folder, const char *tag,
		       const char *base, struct buf *text, struct err *e) MUST_CHECK;

/* Adds a step to the timeline, up to now. */
void profiling_add_step(struct profiling *p);

#endif
