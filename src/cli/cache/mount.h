/* SPDX-License-Identifier: MIT */
/* mount: mounts a view, for "cache mount" and "cache run", with the options of both. */
#ifndef CLI_CACHE_MOUNT_H
#define CLI_CACHE_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cache/cluster_opts.h"
#include "cli/cache/profile.h"

struct cache_mount_args {
	const char *target, *budget, *max_file, *prefetch, *rate;
	uint64_t negative_ttl_ms, timeout_s, threads;
	double revalidate_s;
	bool is_exact, has_others, passthrough;
	int rights;     /* enum mount_rights */
	bool is_copper; /* an option of Copper's cu_fuse was given */
	struct cache_profile_args profile;
	struct cache_cluster_args cluster; /* of "cache mount" only */
};

extern const struct opt cache_mount_opts[];
extern const struct cache_mount_args cache_mount_defaults;

/*
 * Mounts on the folder view. With is_foreground it returns after the unmount. Else it forks a
 * daemon and returns twice: in this process when the view is ready, or with an error; in the
 * daemon, with *ret_is_daemon set, after the unmount. ends_with_us: the daemon unmounts when this
 * process dies.
 */
int cache_mount(const struct cache_mount_args *args, const char *view, bool is_foreground,
		bool ends_with_us, bool *ret_is_daemon, struct err *e) MUST_CHECK;

#endif
