/* SPDX-License-Identifier: MIT */
/*
 * cluster_tables: a cluster as rows of CSV, or as a table or JSON to look at.
 *
 * Columns and order are Copper's where Copper has the file; more of them stand behind. Each ends
 * the rows: emit_end() is the caller's.
 */
#ifndef CACHEJOB_CLUSTER_TABLES_H
#define CACHEJOB_CLUSTER_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "cachefs/profile/classes.h"
#include "cachejob/cluster.h"
#include "cachejob/cluster_sums.h"
#include "view/emit.h"

/* What the tables are made from, in order. */
struct cluster_view {
	const struct cluster *cluster;
	const struct classes *classes;
	const struct path_sums *sums;
	uint32_t *paths;      /* indices by category and most events; owned */
	uint32_t *slow_paths; /* indices by most time; owned */
	size_t top;           /* paths of a category that are shown */
};

/* All but the owned ones are borrowed. 0 or -ENOMEM. */
int cluster_view_init(struct cluster_view *v, const struct cluster *c,
		      const struct classes *classes, const struct path_sums *sums, size_t top,
		      struct err *e) MUST_CHECK;
void cluster_view_fini(struct cluster_view *v);

/* One after the other, the shown ones of every category: the path of *at (from 0), or NULL. */
const struct cluster_path *cluster_view_next_path(const struct cluster_view *v, size_t *at);

void cluster_put_metrics(const struct cluster_view *v, struct emit *out);
void cluster_put_operations(const struct cluster_view *v, struct emit *out);
void cluster_put_latency(const struct cluster_view *v, struct emit *out);
void cluster_put_ranges(const struct cluster_view *v, struct emit *out);
void cluster_put_top_paths(const struct cluster_view *v, struct emit *out);
void cluster_put_classes(const struct cluster_view *v, struct emit *out);
void cluster_put_packages(const struct cluster_view *v, struct emit *out);

/* The name of a rank that stands for a figure; "" where all ranks have the same. */
const char *cluster_rank_name(const struct cluster *c, const struct range *r, uint32_t rank);

#endif
