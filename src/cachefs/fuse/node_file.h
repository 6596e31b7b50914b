/* SPDX-License-Identifier: MIT */
/*
 * node_file: JOB/logs/RANK-node.json: what a node of an overlay is and has done, for commands on
 * any node that shows the whole job (cachejob/nodes.h).
 *
 * A thread writes it when the view is ready, then while counts change, at most once in a second
 * and 10 ms for each node of the job; at least once in NODE_FILE_BEAT_NS; and at the end.
 */
#ifndef CACHEFS_FUSE_NODE_FILE_H
#define CACHEFS_FUSE_NODE_FILE_H

#include "cachefs/overlay/overlay.h"
#include "cachefs/profile/profiling.h"

#define NODE_FILE_BEAT_NS (60 * NS_PER_S)
#define NODE_FILE_NAME "node.json"

struct node_file;

struct node_file_opts {
	struct overlay *overlay;
	struct profiling *profiling;
	const struct job_files *files; /* with a job */
	const char *target, *view;
	const char *launch; /* the name of this launch; NULL: none */
};

/* All is borrowed. The view is ready. NULL: no thread could be started. */
struct node_file *node_file_start(const struct node_file_opts *o);
/* Writes the last one. NULL is allowed. */
void node_file_stop(struct node_file *f);

#endif
