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
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "base/err.h"
#include "cachefs/profile/job_files.h"
#include "cachefs/store/usage.h"

#define CONTROL_CLEAR 100     /* empties the cache */
#define CONTROL_RESET 1900    /* writes the profile, resets all counters, empties the cache */
#define CONTROL_SNAPSHOT 2000 /* writes all files into the job's folder */

#define CONTROL_REASON_MAX sizeof(((struct err *)0)->msg)

/* These two ioctls are ours; the kernel copies the struct to the caller. */

/* The counts since the mount or the last reset, and the memory in use. */
struct control_stats {
	uint64_t requests;          /* of the kernel */
	uint64_t hits, misses;      /* requests served from memory; that waited for storage */
	uint64_t failed;            /* requests that failed, mostly with ENOENT */
	uint64_t bytes, latency_ns; /* of all requests */
	uint64_t wait_ns;           /* how long requests waited for storage, summed */
	uint64_t storage_requests, storage_failures, storage_timeouts, storage_interrupts;
	uint64_t stale;   /* files that changed under the cache */
	uint64_t hanging; /* calls that storage has not replied to for longer than the timeout */
	int64_t start_ns; /* of the mount; CLOCK_REALTIME */
	uint64_t used_bytes[USAGE_TABLES], entries[USAGE_TABLES];
	uint64_t budget_bytes;
	int64_t pid;
	char job[1024];                  /* the job's folder; "": none, or its path is longer */
	char rank[JOB_RANK_MAX];         /* the prefix of its files */
	char reason[CONTROL_REASON_MAX]; /* why the last command returned 1; "": none did */
};
#define CONTROL_STATS _IOR('a', 1, struct control_stats)
static_assert(sizeof(struct control_stats) < 1 << 14, "an ioctl cannot carry more");

/* The paths whose requests took longest in all. None if the view does not count by path. */
#define CONTROL_PATHS 5
#define CONTROL_PATH_MAX 1024
struct control_slowest {
	uint64_t count;
	struct control_path {
		uint64_t requests, ns;
		char path[CONTROL_PATH_MAX]; /* in the target; "...": its start is cut */
	} paths[CONTROL_PATHS];
};
#define CONTROL_SLOWEST _IOR('a', 2, struct control_slowest)
static_assert(sizeof(struct control_slowest) < 1 << 14, "an ioctl cannot carry more");

/*
 * Does storage reply about as fast as the cache itself, so that the cache saves little? True if
 * at least 100 requests waited for storage, for less than 100 us each in the mean besides 1 ns for
 * each byte of data: a local disk whose page cache is warm. A request to a FUSE file system
 * takes 10 to 40 us itself, and handing it to a storage thread as long again.
 */
bool control_is_storage_fast(const struct control_stats *s);

/* view: a folder of a mounted cache. -ENOTTY: it is not. */
int control_command(const char *view, int number, struct err *e) MUST_CHECK;
int control_stats(const char *view, struct control_stats *ret, struct err *e) MUST_CHECK;
int control_slowest(const char *view, struct control_slowest *ret, struct err *e) MUST_CHECK;

#endif
