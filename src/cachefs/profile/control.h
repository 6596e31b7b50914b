/* SPDX-License-Identifier: MIT */
/*
 * control: commands to a mounted cache, by ioctl(2) on any file of it.
 *
 * Copper's commands are plain numbers without an argument. They return 0, or 1 when a file could
 * not be written. We add errors: EPERM for users other than the owner and root, ENOTTY for an
 * unknown number.
 */
#ifndef CACHEFS_PROFILE_CONTROL_H
#define CACHEFS_PROFILE_CONTROL_H

#include <assert.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "base/err.h"
#include "cachefs/profile/job_files.h"
#include "cachefs/store/usage.h"

#define CONTROL_CLEAR 100     /* empties the cache */
#define CONTROL_RESET 1900    /* writes the profile, resets all counters, empties the cache */
#define CONTROL_SNAPSHOT 2000 /* writes all files into the job's folder */

#define CONTROL_REASON_MAX sizeof(((struct err *)0)->msg)

/* The memory in use. This ioctl is ours; the kernel copies the struct to the caller. */
struct control_stats {
	uint64_t used_bytes[USAGE_TABLES], entries[USAGE_TABLES];
	uint64_t budget_bytes;
	int64_t pid;
	char job[1024];                  /* the job's folder; "": none, or its path is longer */
	char rank[JOB_RANK_MAX];         /* the prefix of its files */
	char reason[CONTROL_REASON_MAX]; /* why the last command returned 1; "": none did */
};
#define CONTROL_STATS _IOR('a', 1, struct control_stats)
static_assert(sizeof(struct control_stats) < 1 << 14, "an ioctl cannot carry more");

/* view: a folder of a mounted cache. -ENOTTY: it is not. */
int control_command(const char *view, int number, struct err *e) MUST_CHECK;
int control_stats(const char *view, struct control_stats *ret, struct err *e) MUST_CHECK;

#endif
