/* SPDX-License-Identifier: MIT */
/* rank_progress: how many of a job's ranks are read, on a terminal that somebody looks at. */
#ifndef CLI_CACHE_RANK_PROGRESS_H
#define CLI_CACHE_RANK_PROGRESS_H

#include "base/err.h"
#include "base/macros.h"
#include "cachejob/cluster.h"

/* As cluster_read(). */
int read_cluster(struct cluster *c, const struct jobdir *job, enum cluster_paths what,
		 struct err *e) MUST_CHECK;

#endif
