/* SPDX-License-Identifier: MIT */
/* cache_profile: the options of a mounted cache's profile and log. */
#ifndef CLI_CACHE_PROFILE_H
#define CLI_CACHE_PROFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "cachefs/fuse/mount.h"

struct cache_profile_args {
	const char *job;
	bool has_metrics, has_paths, keeps_kernel;
	uint64_t top_paths, interval_s, log_level;
	int log_to;
};

extern const struct opt cache_profile_opts[];

/* Into o; is_exact, too, when a profile of all paths wants it. job: where the path of the job's
 * folder is kept. */
int cache_profile_fill(const struct cache_profile_args *args, struct mount_opts *o,
		       char job[PATH_MAX], struct err *e) MUST_CHECK;

/* mount_run with the job's log, by the process that serves. */
int cache_profile_serve(const struct cache_profile_args *args, const struct mount_opts *o,
			struct err *e) MUST_CHECK;

#endif
