/* SPDX-License-Identifier: MIT */
/*
 * cluster_summary: a cluster in Markdown, for people.
 *
 * Source: the headings and tables of Copper's cluster summary, and what it lacks.
 */
#ifndef CACHEJOB_CLUSTER_SUMMARY_H
#define CACHEJOB_CLUSTER_SUMMARY_H

#include "base/buf.h"
#include "base/rows.h"
#include "cachejob/cluster_tables.h"

/* Appends; failure is remembered in the buf. coverage: struct coverage_root. job: as the user
 * named it. */
void cluster_summary_put(struct buf *out, const struct cluster_view *v, const struct rows *coverage,
			 const char *job);

#endif
