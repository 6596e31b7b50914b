/* SPDX-License-Identifier: MIT */
/*
 * profiling: the profile of a mounted cache as files of a job's folder, written when asked for, in
 * intervals, and at the end.
 *
 * One thread of its own writes them and carries out orders, so that no request of the kernel
 * waits for a file. Each file is there complete or not at all.
 *
 *	JOB/logs/            RANK-output.log, of joblog.h
 *	JOB/profiling/final/ RANK-profiling_*, RANK-profile.pb.gz
 *	JOB/profiling/TAG/   RANK-TAG-profiling_*
 *	JOB/tables/final/, JOB/tables/TAG/
 */
#ifndef CACHEFS_PROFILE_PROFILING_H
#define CACHEFS_PROFILE_PROFILING_H

#include "cachefs/profile/control.h"
#include "cachefs/profile/job_files.h"
#include "cachefs/profile/metrics.h"
#include "cachefs/profile/profile_facts.h"
#include "cachefs/store/cache.h"
#include "model/profile.h"

struct profiling_opts {
	struct job_files files;
	enum profile_mode mode;
	uint64_t top_paths;
	int64_t interval_ns; /* between files of runtime-snapshot; 0: none of these */
	/* Puts a profile into a file, as format/pprof does. */
	int (*write_profile)(const struct profile *p, const char *path, struct err *e);
};

struct profiling;

/* about: without what the options tell. All is borrowed. */
int profiling_open(const struct profiling_opts *o, const struct profile_config *config,
		   struct cache *c, struct metrics *m, struct profiling **ret,
		   struct err *e) MUST_CHECK;
void profiling_close(struct profiling *p); /* NULL is allowed */

/* From here on intervals are kept and orders are carried out. */
int profiling_start(struct profiling *p, struct err *e) MUST_CHECK;

/* Orders that are still to be done are answered; then the thread ends. */
void profiling_stop(struct profiling *p);

/* The files of this tag; NULL: the final ones. False: not all could be written; LOG_WARN told. */
bool profiling_write(struct profiling *p, const char *tag);

/* An order came by a request; path: of the file that it came by, as a storage's, is copied.
 * done() is called once with it, by any thread: rc is 0, 1 or a negative errno. */
struct profiling_command {
	int number;
	void (*done)(void *request, int rc);
	void *request;
};
bool profiling_has_command(int number); /* is it an order? */
void profiling_submit(struct profiling *p, const struct profiling_command *order, const char *path);

void profiling_stats(const struct profiling *p, struct control_stats *ret);

#endif
