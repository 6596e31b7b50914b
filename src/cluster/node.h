/* SPDX-License-Identifier: MIT */
/*
 * node: a running node of the overlay. One thread drives the protocol with a transport and the
 * clock; the cache above it answers from memory, reads storage, and requests what it lacks.
 *
 * All ops are called by the node's thread, one at a time, and must not block; from them,
 * cluster_node_request() and cluster_node_read_done() may be called. Keys and answers that are
 * passed are borrowed for the call. The functions below may be called by any thread.
 */
#ifndef CLUSTER_NODE_H
#define CLUSTER_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "cluster/protocol.h"

struct cluster_node;

/* A read of storage: from ops->read to cluster_node_read_done(), which any thread calls once. */
struct cluster_read {
	struct wire_key key;           /* the path ends with a NUL; valid until it is done */
	struct protocol_answer answer; /* to be set, with read_ns of CLOCK_MONOTONIC */
	/* When the node no longer needs answer.body; NULL: nothing is to be freed. */
	void (*release)(void *data);
	void *data; /* the caller's */
};

struct cluster_node_ops {
	/* As in struct protocol_ops. The body that find returns must stay where it is until the
	 * next op is called, or the node has stopped. */
	bool (*find)(void *self, const struct wire_key *key, struct protocol_answer *ret);
	void (*keep)(void *self, const struct wire_key *key, const struct protocol_answer *a,
		     bool is_local);

	/* Starts a read of storage. A chunk's identity that storage no longer has: -ESTALE. */
	void (*read)(void *self, struct cluster_read *r);
};

struct cluster_node_config {
	/* size 0: rank and size are the launcher's (PMIx, PMI-1); without one: a node alone. */
	uint32_t rank, size;
	const char *transport;    /* "auto" or a name of transports[] */
	const char *listen;       /* an address or interface of this host; NULL: the host's own */
	const char *address_book; /* a folder that all nodes share; NULL: the launcher's exchange */
	const char *generation;  /* distinguishes this job's address book from older ones; NULL: the
				    launcher's job number */
	const char *secret_file; /* NULL: the launcher's exchange passes one that rank 0 makes */
	int64_t join_ns;         /* how long to wait for the other ranks' addresses */
	int64_t timeout_ns;      /* a request is answered within it */
	uint32_t fanout, trees;  /* 0: the default; trees: readers of storage */
	size_t max_requests;     /* of this node at once; 0: the default, 16384 */
};

/* Depths in the trees: a node has one in each. Deeper ones count as the last. */
#define CLUSTER_LEVELS 16

/* What this node requested at a level, and how it was answered. */
struct cluster_level {
	uint64_t requests; /* answered */
	uint64_t bytes;    /* of bodies */
	uint64_t wait_ns;  /* from request to answer, summed */
	uint64_t longest_ns;
	uint64_t served; /* requests of nodes below, */
	uint64_t hits;   /* and those of them that the cache answered */
};

struct cluster_statistics {
	uint32_t rank, size;
	char transport[16];         /* the name */
	char endpoint[160];         /* where this node listens */
	uint32_t connected;         /* peers with a session */
	uint64_t storage_requests;  /* reads of storage that this node made, */
	uint64_t storage_bytes;     /* and their bytes */
	uint64_t peer_requests;     /* answers from peers, */
	uint64_t peer_bytes;        /* and their bytes */
	uint64_t sent_bytes;        /* on the wire */
	uint64_t received_bytes;    /* on the wire */
	uint64_t connection_losses; /* of sessions that were complete */
	uint64_t refused;           /* connections without the job's secret, or with garbage */
	uint64_t replayed;          /* messages that were received before */
	uint64_t join_ns;           /* from the start until all addresses were known */
	uint64_t first_answer_ns;   /* from the start to the first answer of a peer; 0: none */
	struct protocol_counts protocol;
	struct cluster_level levels[CLUSTER_LEVELS]; /* by depth */
};

/*
 * Listens, exchanges addresses with the other ranks, and starts the thread. ops is borrowed, config
 * is copied. -EACCES: the secret; -ETIMEDOUT: ranks are missing, which the reason names; -ENOTSUP:
 * a library or the transport is not here; or another -errno.
 */
int cluster_node_start(const struct cluster_node_config *config, const struct cluster_node_ops *ops,
		       void *self, struct cluster_node **ret, struct err *e) MUST_CHECK;

/*
 * Says goodbye, answers all requests with -ESHUTDOWN, and ends the thread: afterwards no op is
 * called. Reads of storage that are not done may end later: cluster_node_read_done() then only
 * releases them. NULL is allowed. Not from an op.
 */
void cluster_node_stop(struct cluster_node *n);

/* Answers a request; called once by the node's thread, never during the request itself. */
typedef void cluster_answered(void *self, const struct wire_key *key,
			      const struct protocol_answer *a);

/*
 * Requests what the cache does not have. Copies key. max_age_ns: storage's word may be so old.
 * -EAGAIN: too many; -ENOMEM; -ESHUTDOWN: the node stops. Then answered is not called.
 */
int cluster_node_request(struct cluster_node *n, const struct wire_key *key, int64_t max_age_ns,
			 cluster_answered *answered, void *self) MUST_CHECK;

/* r->answer is set. The node releases and frees r. */
void cluster_node_read_done(struct cluster_read *r);

void cluster_node_statistics(struct cluster_node *n, struct cluster_statistics *ret);

#endif
