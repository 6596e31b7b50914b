/* SPDX-License-Identifier: MIT */
/*
 * cluster_summary: the report on a cluster in Markdown.
 *
 * Source: Copper's cluster summary for the headings and tables; some are ours.
 */
#ifndef CACHEJOB_CLUSTER_SUMMARY_H
#define CACHEJOB_CLUSTER_SUMMARY_H

#include "base/buf.h"
#include "base/rows.h"
#include "cachejob/cluster_tables.h"
#include "cachejob/nodes.h"

/* Appends; failure is remembered in the buf. coverage: struct coverage_root. nodes: of
 * the overlay, which may be none. job: as the user named it. */
void cluster_summary_put(struct buf *out, const struct cluster_view *v, const struct rows *coverage,
			 const struct nodes_list *nodes, const char *job);

#endif
