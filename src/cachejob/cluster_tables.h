/* SPDX-License-Identifier: MIT */
/*
 * cluster_tables: writes a cluster as CSV, JSON or tables.
 *
 * Columns and order are Copper's where Copper has the file, and ours follow them. The caller calls
 * emit_end().
 */
#ifndef CACHEJOB_CLUSTER_TABLES_H
#define CACHEJOB_CLUSTER_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "cachefs/profile/classes.h"
#include "cachejob/cluster.h"
#include "cachejob/cluster_sums.h"
#include "view/emit.h"

/* A cluster with its paths in order. */
struct cluster_view {
	const struct cluster *cluster;
	const struct classes *classes;
	const struct path_sums *sums;
	uint32_t *paths;      /* indices by category and most events; owned */
	uint32_t *slow_paths; /* indices by most time; owned */
	uint32_t *big_paths;  /* indices by most bytes; owned */
	size_t top;           /* how many paths of a category are shown */
};

/* Borrows all its arguments. 0 or -ENOMEM. */
int cluster_view_init(struct cluster_view *v, const struct cluster *c,
		      const struct classes *classes, const struct path_sums *sums, size_t top,
		      struct err *e) MUST_CHECK;
void cluster_view_fini(struct cluster_view *v);

/* Iterates over the shown paths of all categories: the path at *at (from 0), or NULL. */
const struct cluster_path *cluster_view_next_path(const struct cluster_view *v, size_t *at);

void cluster_put_metrics(const struct cluster_view *v, struct emit *out);
void cluster_put_operations(const struct cluster_view *v, struct emit *out);
void cluster_put_latency(const struct cluster_view *v, struct emit *out);
void cluster_put_ranges(const struct cluster_view *v, struct emit *out);
void cluster_put_top_paths(const struct cluster_view *v, struct emit *out);
void cluster_put_classes(const struct cluster_view *v, struct emit *out);
void cluster_put_packages(const struct cluster_view *v, struct emit *out);

/* The name of the rank with the minimum or maximum; "" if all ranks have the same value. */
const char *cluster_rank_name(const struct cluster *c, const struct range *r, uint32_t rank);

#endif
