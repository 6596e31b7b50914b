/* SPDX-License-Identifier: MIT */
/*
 * profiling: writes the profile of a mounted cache into a job's folder: by command, at intervals,
 *and at the end.
 *
 * A thread of its own writes the files and executes commands, so that no request of the kernel
 *waits for a file. Each file is complete or missing.
 *
 *	JOB/logs/            RANK-output.log, of joblog.h
 *	JOB/profiling/final/ RANK-profiling_*, RANK-profile.pb.gz
 *	JOB/profiling/TAG/   RANK-TAG-profiling_*
 *	JOB/tables/final/, JOB/tables/TAG/
 */
#ifndef CACHEFS_PROFILE_PROFILING_H
#define CACHEFS_PROFILE_PROFILING_H

#include "base/output/fsuser.h"
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
	int64_t interval_ns; /* of runtime-snapshot; 0: none */
	/* The bytes of a profile file, as format/pprof makes them. */
	int (*encode_profile)(const struct profile *p, struct buf *out, struct err *e);
};

struct profiling;

/* config: without the members that o has. All is borrowed. */
int profiling_open(const struct profiling_opts *o, const struct profile_config *config,
		   struct cache *c, struct metrics *m, struct profiling **ret,
		   struct err *e) MUST_CHECK;
void profiling_close(struct profiling *p); /* NULL is allowed */

/* Starts the thread. */
int profiling_start(struct profiling *p, struct err *e) MUST_CHECK;

/* Executes the queued commands, and ends the thread. */
void profiling_stop(struct profiling *p);

/* Writes the files of this tag; NULL: final. False: some failed, and LOG_WARN has the reason. */
bool profiling_write(struct profiling *p, const char *tag);

/* A command of a request. Any thread calls done() once: rc is 0, 1 or a negative errno. */
struct profiling_command {
	int number;
	const struct fsuser *user; /* whose rights it has to write files; borrowed until done() */
	struct control_slowest
		*slowest; /* of CONTROL_SLOWEST: receives them; borrowed until done() */
	void (*done)(void *request, int rc);
	void *request;
};
bool profiling_has_command(int number); /* is it one of Copper's? */
/* path: of the file of the ioctl, as a storage's; copied. */
void profiling_submit(struct profiling *p, const struct profiling_command *command,
		      const char *path);

void profiling_stats(struct profiling *p, struct control_stats *ret);

#endif
