/* SPDX-License-Identifier: MIT */
/*
 * job_files: writes the files of this rank into a job's folder: RANK-..., and nowhere else.
 *
 * RANK is HOST-PID, as in Copper. If another rank has that name, from a container of the same host
 * name or an earlier process of the same id, it is HOST.2-PID, and so on. So no rank overwrites the
 * files of another. A rank claims its name by creating its log, or else its summary.
 *
 * The job's folder is opened once. All names are resolved below it without following a link
 * (openat2, or component by component), and what is there must be a regular file of the thread's
 * own user: others may write to that folder, and the cache may be root's.
 */
#ifndef CACHEFS_PROFILE_JOB_FILES_H
#define CACHEFS_PROFILE_JOB_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"

#define JOB_PATH_MAX PATH_MAX
#define JOB_RANK_MAX 320
#define JOB_LOG_NAME "output.log"
#define JOB_SUMMARY_NAME "profiling_summary.md"

enum job_folder {
	JOB_LOGS,
	JOB_PROFILING,
	JOB_TABLES,
};

struct job_files {
	const char *job; /* absolute; borrowed; NULL: none */
	bool has_log;    /* the rank has a log; set before job_files_open */
	bool has_all;    /* it has all of Copper's folders; set before job_files_open */
	char rank[JOB_RANK_MAX];
	char real[JOB_PATH_MAX]; /* job without symbolic links */
	int folder;              /* of the job, O_PATH; owned */
	int log;                 /* of the rank's log, to append to; owned; -1: none */
};

/* Called once, in the daemon. Makes the job's folders, and claims a name. job NULL: no files, and
 * the name is HOST-PID. */
int job_files_open(struct job_files *f, struct err *e) MUST_CHECK;
void job_files_close(struct job_files *f);

/* Replaces a file; makes the folder of the tag (NULL: final). JOB_LOGS has no tags. */
int job_files_put(const struct job_files *f, enum job_folder folder, const char *tag,
		  const char *base, const void *bytes, size_t len, struct err *e) MUST_CHECK;

/* Appends to a file that is there. */
int job_files_append(const struct job_files *f, enum job_folder folder, const char *tag,
		     const char *base, const void *bytes, size_t len, struct err *e) MUST_CHECK;

/* Removes a file, and the folder of its tag when it is empty then. */
void job_files_remove(const struct job_files *f, enum job_folder folder, const char *tag,
		      const char *base);

/* Replaces a file of this rank in the folder of target/path, where that is in the job's folder;
 * else in JOB_TABLES. */
int job_files_put_beside(const struct job_files *f, const char *target, const char *path,
			 const char *base, const void *bytes, size_t len, struct err *e) MUST_CHECK;

#endif
