/* SPDX-License-Identifier: MIT */
/*
 * job_files: names the files of this rank in a job's folder: RANK-....
 *
 * RANK is HOST-PID, as in Copper. If another rank has that name, from a container of the same host
 * name or an earlier process of the same id, it is HOST.2-PID, and so on. So no rank overwrites the
 * files of another. A rank claims its name by creating its log.
 */
#ifndef CACHEFS_PROFILE_JOB_FILES_H
#define CACHEFS_PROFILE_JOB_FILES_H

#include <limits.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"

#define JOB_PATH_MAX PATH_MAX
#define JOB_RANK_MAX 320
#define JOB_LOG_NAME "output.log"

enum job_folder {
	JOB_LOGS,
	JOB_PROFILING,
	JOB_TABLES,
};

struct job_files {
	const char *job; /* absolute; borrowed; NULL: none */
	char rank[JOB_RANK_MAX];
};

/* Called once, in the daemon. Makes the job's folders, claims a name, and creates its log. job
 * NULL: no files, and the name is HOST-PID. */
int job_files_open(struct job_files *f, const char *job, struct err *e) MUST_CHECK;

/* The path of a file; makes the folder of the tag (NULL: final). JOB_LOGS has no tags. */
int job_files_path(const struct job_files *f, enum job_folder folder, const char *tag,
		   const char *base, char path[JOB_PATH_MAX], struct err *e) MUST_CHECK;

/* Replaces the file. */
int job_files_put(const struct job_files *f, enum job_folder folder, const char *tag,
		  const char *base, const void *bytes, size_t len, struct err *e) MUST_CHECK;

/* A file of this rank in the folder of target/path. */
int job_files_beside(const struct job_files *f, const char *target, const char *path,
		     const char *base, char ret[JOB_PATH_MAX], struct err *e) MUST_CHECK;

#endif
