/* SPDX-License-Identifier: MIT */
/* node_sums: what all nodes of an overlay did together, and which of them waited longest. */
#ifndef CACHEJOB_NODE_SUMS_H
#define CACHEJOB_NODE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "cachejob/nodes.h"

#define NODE_SUMS_SLOWEST 10 /* nodes that are shown */

struct node_sums {
	struct node_report all; /* its numbers and levels */
	int64_t ended, silent;  /* nodes; silent: not ended, and without a sign of life */
};

void node_sums_make(const struct nodes_list *nodes, int64_t now_ns, struct node_sums *ret);

/* How long the node's longest request took, in ns. */
int64_t node_report_longest(const struct node_report *n);

/* [nodes->count], the one with the longest request first, then by rank; to be freed by the caller.
 * NULL: out of memory. */
const struct node_report **node_sums_slowest(const struct nodes_list *nodes) MUST_CHECK;

/* Tables of the levels and of the slowest nodes, in Markdown. Nothing without a node. Out of memory
 * is remembered by out. */
void node_sums_put(const struct nodes_list *nodes, struct buf *out);

#endif
