/* SPDX-License-Identifier: MIT */
/*
 * node_internal: what the parts of a node share. node.c has its life and its thread,
 * node_requests.c the requests and reads of storage that pass between the thread and others.
 */
#ifndef CLUSTER_NODE_INTERNAL_H
#define CLUSTER_NODE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/fifo.h"
#include "cluster/bootstrap/bootstrap.h"
#include "cluster/mailbox.h"
#include "cluster/node.h"
#include "cluster/transport/transport.h"

#define MAX_REFUSED_READS 64 /* reads that could not even begin */

struct letter;

struct cluster_node {
	struct cluster_node_config config;
	const struct cluster_node_ops *ops;
	void *self;
	struct protocol *protocol;
	const struct transport *transport;
	void *transport_self;
	struct bootstrap *bootstrap;
	struct mailbox *mailbox;
	pthread_t thread;
	_Atomic bool is_stopping;
	_Atomic size_t requests; /* without an answer */

	/* The thread's. */
	struct letter *unanswered; /* which the protocol has */
	struct fifo waiting;       /* for room in the protocol */
	uint64_t refused_reads[MAX_REFUSED_READS];
	size_t refused_count;
	bool is_looking; /* a rank's new address is being read */
	int64_t started_ns;
	struct cluster_statistics statistics;

	pthread_mutex_t lock;
	struct cluster_statistics published; /* under lock */
};

/* The counts of the depth that this node has in the tree of the key. */
struct cluster_level *node_level(struct cluster_node *n, const struct wire_key *key);

/* For struct protocol_ops. */
void node_read_storage(void *self, uint64_t id, const struct wire_key *key);
void node_answer(void *self, uint64_t cookie, const struct wire_key *key,
		 const struct protocol_answer *a);

/* The rank could not be reached: when it was started again, it is somewhere else. */
void node_look_up(struct cluster_node *n, uint32_t rank);

/* Passes what is in the mailbox to the protocol. */
void node_take_letters(struct cluster_node *n);

/* Closes the mailbox: every request is answered, and every read released. */
void node_end_requests(struct cluster_node *n);

#endif
