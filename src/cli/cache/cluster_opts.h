/* SPDX-License-Identifier: MIT */
/* cluster_opts: the options of "cache mount" for a view that several nodes serve together. */
#ifndef CLI_CACHE_CLUSTER_OPTS_H
#define CLI_CACHE_CLUSTER_OPTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "cachefs/overlay/overlay.h"

#define CACHE_NO_RANK UINT64_MAX /* the launcher's */

struct cache_cluster_args {
	uint64_t rank, ranks; /* 0 ranks: the launcher's, or those of the node file */
	uint64_t trees, join_s;
	const char *node_file, *address_book, *secret_file, *transport, *listen, *launch;
	struct opt_list shared;
};

extern const struct opt cache_cluster_opts[];

/* The paths that overlay_opts borrow. */
struct cache_cluster_paths {
	char book[PATH_MAX], secret[PATH_MAX];
	const char *shared[OPT_LIST_MAX];
};

/*
 * job: the job's folder, absolute; NULL: none. Where no address book is named, it is in there, as
 * is the secret; *paths has their names. *ret_is_on: several nodes serve the view. Fills node and
 * the paths of shared.
 */
int cache_cluster_fill(const struct cache_cluster_args *args, const char *job,
		       struct cache_cluster_paths *paths, struct overlay_opts *ret, bool *ret_is_on,
		       struct err *e) MUST_CHECK;

#endif
