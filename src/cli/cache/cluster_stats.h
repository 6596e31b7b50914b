/* SPDX-License-Identifier: MIT */
/* cluster_stats: "cache stats --cluster": what all nodes of an overlay did, by their files. */
#ifndef CLI_CACHE_CLUSTER_STATS_H
#define CLI_CACHE_CLUSTER_STATS_H

#include "base/err.h"
#include "cachejob/nodes.h"
#include "view/emit.h"

/* Sums over all nodes. place: a view, or the folder of a job. -ENODATA: no node has a file. */
int cluster_stats_put(const char *place, struct emit *out, struct err *e) MUST_CHECK;

#endif
