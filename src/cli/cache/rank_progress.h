/* SPDX-License-Identifier: MIT */
/* rank_progress: reads a cluster, and shows the progress if stderr is a terminal. */
#ifndef CLI_CACHE_RANK_PROGRESS_H
#define CLI_CACHE_RANK_PROGRESS_H

#include "base/err.h"
#include "base/macros.h"
#include "cachejob/cluster.h"

/* As cluster_read(). */
int read_cluster(struct cluster *c, const struct jobdir *job, enum cluster_paths what,
		 struct err *e) MUST_CHECK;

#endif
