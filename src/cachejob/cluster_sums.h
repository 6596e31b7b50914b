/* SPDX-License-Identifier: MIT */
/* cluster_sums: sums a cluster's paths by class, and those of Python packages by package. */
#ifndef CACHEJOB_CLUSTER_SUMS_H
#define CACHEJOB_CLUSTER_SUMS_H

#include "base/err.h"
#include "base/macros.h"
#include "base/strtab.h"
#include "cachefs/profile/path_sums.h"
#include "cachejob/cluster.h"

/* c and classes are borrowed for the life of the sums. A sum's example is an index of c's paths.
 * -ENOMEM. */
int cluster_sums_make(struct path_sums *ret, const struct cluster *c, const struct classes *classes,
		      struct err *e) MUST_CHECK;

/* Did every lookup of the path return ENOENT? */
bool path_is_absent(const struct cluster_path *p);

/* The package of a path: "numpy" of ".../site-packages/numpy/core"; len 0: none. */
struct str path_package(struct str path);

#endif
