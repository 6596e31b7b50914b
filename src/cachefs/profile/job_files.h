/* SPDX-License-Identifier: MIT */
/*
 * job_files: where the files of this rank are in a job's folder: RANK-... of each.
 *
 * RANK is HOST-PID, as with Copper. Where that was taken before, by a container of the same host
 * name or by an earlier process of the same number, it is HOST.2-PID, and so on: no rank writes
 * over another's files. Taken is what has a log in logs, which each rank makes first.
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

/* By the process that serves, once. Makes the job's folders: logs, tables/final, profiling/final,
 * profiling/cluster; takes a name, and makes its log. job NULL: no files, and the name is HOST-PID.
 */
int job_files_open(struct job_files *f, const char *job, struct err *e) MUST_CHECK;

/* The path of a file; the folder of the tag (NULL: final) is made. Of JOB_LOGS: no tag. */
int job_files_path(const struct job_files *f, enum job_folder folder, const char *tag,
		   const char *base, char path[JOB_PATH_MAX], struct err *e) MUST_CHECK;

/* Replaces that file. */
int job_files_put(const struct job_files *f, enum job_folder folder, const char *tag,
		  const char *base, const void *bytes, size_t len, struct err *e) MUST_CHECK;

/* A file of this rank in the folder of target/path. */
int job_files_beside(const struct job_files *f, const char *target, const char *path,
		     const char *base, char ret[JOB_PATH_MAX], struct err *e) MUST_CHECK;

#endif
