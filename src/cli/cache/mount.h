/* SPDX-License-Identifier: MIT */
/* cache_mount: the options of a mount, and mounting, for "cache mount" and "cache run". */
#ifndef CLI_CACHE_MOUNT_H
#define CLI_CACHE_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cache/profile.h"

struct cache_mount_args {
	const char *target, *budget, *max_file, *prefetch, *rate;
	uint64_t absent_ms, timeout_s, threads;
	double lifetime_s;
	bool is_exact, has_others, passthrough;
	struct cache_profile_args profile;
};

extern const struct opt cache_mount_opts[];
extern const struct cache_mount_args cache_mount_defaults;

/*
 * Mounts on view, a folder. With is_foreground it returns when that is unmounted. Without, it
 * returns twice: when the view can be used (or cannot: what is returned is not 0), and, to the
 * process that serves it, with *ret_is_daemon, when it is unmounted. ends_with_us: that
 * process unmounts when this one is gone.
 */
int cache_mount(const struct cache_mount_args *args, const char *view, bool is_foreground,
		bool ends_with_us, bool *ret_is_daemon, struct err *e) MUST_CHECK;

#endif
