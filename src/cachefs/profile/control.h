/* SPDX-License-Identifier: MIT */
/*
 * control: what the owner of a mounted cache can order it to do, by ioctl(2) on any file of it.
 *
 * Copper's orders are plain numbers without an argument. The answer is 0, or 1 when a file could
 * not be written; -1 and an errno is ours: EPERM for others than the owner, ENOTTY for what is no
 * order.
 */
#ifndef CACHEFS_PROFILE_CONTROL_H
#define CACHEFS_PROFILE_CONTROL_H

#include <assert.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "base/err.h"
#include "cachefs/profile/job_files.h"
#include "cachefs/store/usage.h"

#define CONTROL_CLEAR 100     /* of the tables: they are empty */
#define CONTROL_RESET 1900    /* and all counters, too; their profile is written before */
#define CONTROL_SNAPSHOT 2000 /* all files, into the job's folder */

/* How full it is. Ours; the kernel copies it out. */
struct control_stats {
	uint64_t used_bytes[USAGE_TABLES], entries[USAGE_TABLES];
	uint64_t budget_bytes;
	int64_t pid;
	char job[1024];          /* folder of the job's files; "": none, or its name is longer */
	char rank[JOB_RANK_MAX]; /* whose they are: begins their names */
};
#define CONTROL_STATS _IOR('a', 1, struct control_stats)
static_assert(sizeof(struct control_stats) < 1 << 14, "an ioctl carries no more");

/* view: a folder of a mounted cache. -ENOTTY: it is none. */
int control_command(const char *view, int order, struct err *e) MUST_CHECK;
int control_stats(const char *view, struct control_stats *ret, struct err *e) MUST_CHECK;

#endif
