/* SPDX-License-Identifier: MIT */
/* profile: the options of a mounted cache's profile and log. */
#ifndef CLI_CACHE_PROFILE_H
#define CLI_CACHE_PROFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "cachefs/fuse/mount.h"

struct cache_profile_args {
	const char *job;
	bool has_metrics, has_paths, keeps_kernel, has_copper_files;
	uint64_t top_paths, interval_s, log_level;
	int log_to;
};

extern const struct opt cache_profile_opts[];

/* Fills o->profiling, and sets o->is_exact for a profile of all paths. job: receives the path of
 * the job's folder; o borrows it. */
int cache_profile_fill(const struct cache_profile_args *args, struct mount_opts *o,
		       char job[PATH_MAX], struct err *e) MUST_CHECK;

/* mount_run with the job's log; for the daemon. */
int cache_profile_serve(const struct cache_profile_args *args, const struct mount_opts *o,
			struct err *e) MUST_CHECK;

#endif
