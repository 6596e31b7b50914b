/* SPDX-License-Identifier: MIT */
/*
 * nodes: what the nodes of an overlay have written: JOB/logs/RANK-node.json
 * (cachefs/fuse/node_file.h).
 *
 * Files that are no such file are left out, and counted: another rank may be writing, or they are
 * of another program.
 */
#ifndef CACHEJOB_NODES_H
#define CACHEJOB_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

#define NODE_LEVELS 16

struct node_level {
	int64_t requests, bytes, wait_ns, longest_ns, served, hits;
};

struct node_report {
	char host[256], launch[128], view[1024], target[1024], transport[16];
	bool has_ended;
	int64_t rank, ranks, pid, written_ns;
	int64_t requests, hits, misses, failed, read_bytes, wait_ns, used_bytes, budget_bytes;
	int64_t storage_requests, storage_bytes, peer_requests, peer_bytes, sent_bytes,
		received_bytes;
	int64_t connected, connection_losses, lost_peers, rerouted, errors, refused, replayed;
	int64_t join_ns, first_answer_ns;
	struct node_level levels[NODE_LEVELS];
};

struct nodes_list {
	struct node_report *list; /* [count], by rank; owned */
	size_t count, cap;
	size_t bad; /* files */
};
void nodes_list_fini(struct nodes_list *n);

/* launch: only nodes of it; NULL: of the latest one. -ENOENT and the like: the folder cannot be
 * read. No node is no error. */
int nodes_list_read(const char *job, const char *launch, struct nodes_list *ret,
		    struct err *e) MUST_CHECK;

/* One file's text. -EINVAL: it is none; -ENOMEM. text[len] must be readable. */
int node_report_read(const char *text, size_t len, struct node_report *ret) MUST_CHECK;

#endif
