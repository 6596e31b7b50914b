/* SPDX-License-Identifier: MIT */
/*
 * protocol: one node of the overlay as a state machine, without sockets, threads, files or clock.
 *
 * Events come in as calls: a local request, a message of a peer, a peer that failed, the end of a
 * read of storage, the time. Actions go out through struct protocol_ops. The daemon drives it with
 * a transport on one side and a cache on the other, and tests/cluster/simulate with neither.
 *
 * Rules for the caller: one thread at a time; now_ns never decreases; no op calls back into the
 * protocol, so results (also a message that could not be sent) come as later events. After each
 * event protocol_deadline() has the time for protocol_tick(). Everything that is passed in or out
 * is borrowed for the call.
 *
 * What it guarantees, while at least one read of storage works:
 *  - each local request is answered once: with data, or with an error of storage about the file
 *    (wire_is_answer); -EIO only when storage fails wherever it was tried, also on this node;
 *  - an answer's word of storage is not older than max_age_ns, or was given after the request;
 *  - a chunk has the identity that was requested, else the answer is -ESTALE;
 *  - a dead or silent peer costs time, never an error.
 */
#ifndef CLUSTER_PROTOCOL_H
#define CLUSTER_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "cluster/wire.h"

/* Times of the protocol, in ns. tests/cluster/simulate prints what they lead to. */
#define PROTOCOL_TICK_NS INT64_C(100000000)    /* between ticks while something is in fetch */
#define PROTOCOL_BEAT_NS INT64_C(500000000)    /* sign of life to a peer that waits for us */
#define PROTOCOL_SILENT_NS INT64_C(1600000000) /* without a sign a peer is suspected */
#define PROTOCOL_PROBE_NS INT64_C(700000000)   /* the same, where an ALIVE was requested */
#define PROTOCOL_REST_NS INT64_C(20000000)     /* before the next request to a busy peer */
#define PROTOCOL_RETRY_NS INT64_C(2000000000)  /* before a suspect is probed; doubles */
#define PROTOCOL_MAX_RETRY_NS INT64_C(30000000000)
#define PROTOCOL_IDLE_NS INT64_C(30000000000) /* keep-alive to the nodes above us */

/* What the simulator found best: docs/benchmarks.md. Trees: as many as children, not above size. */
#define PROTOCOL_FANOUT 4
#define PROTOCOL_TREES 4

/* Bounds. A node has at most (children + adopted) * WINDOW_CHUNKS chunks on their way out. */
#define PROTOCOL_WINDOW 64       /* requests that one peer may have here */
#define PROTOCOL_WINDOW_CHUNKS 8 /* those for chunks */

struct protocol_config {
	uint32_t rank, size; /* size: nodes, > 0 */
	uint32_t fanout;     /* > 0 */
	uint32_t trees;      /* readers of storage, 1 to size */
	uint64_t epoch;      /* of this process: random, so that a restart has another one */
	int64_t timeout_ns;  /* a request is answered within it */
	size_t max_fetches;  /* keys in fetch; also local requests */
	size_t max_sending;  /* replies with data that the transport holds; others are BUSY */
};

/* What storage said about a key, at this node or at another one. */
struct protocol_answer {
	int rc;          /* 0 or -errno */
	int64_t read_ns; /* when storage said so, or earlier; of this node's clock */
	bool has_attr;   /* all of attr; else only attr.identity */
	struct file_attr attr;
	struct wire_body body; /* may be remote: then the op fetches it */
};

struct protocol_ops {
	/*
	 * Does this node's cache hold the answer, of the identity that the key names? Names that a
	 * complete listing lacks are held as -ENOENT. Of other errors, the answer is false.
	 */
	bool (*find)(void *self, const struct wire_key *key, struct protocol_answer *ret);

	/*
	 * An answer arrived: data, or -ENOENT. is_local: this node requested it; else it only
	 * passes through, and is kept as far as the budget for that goes. What is kept is served
	 * to peers by find().
	 */
	void (*keep)(void *self, const struct wire_key *key, const struct protocol_answer *a,
		     bool is_local);

	/* Never blocks, and never fails: what cannot be sent is an event protocol_peer_failed().
	 * Messages without data must overtake those with data. */
	void (*send)(void *self, uint32_t rank, const struct wire_message *m);

	/* Starts a read of storage, which ends with protocol_storage_done(id). For WIRE_CHUNK,
	 * another identity than the key's is -ESTALE. */
	void (*read_storage)(void *self, uint64_t id, const struct wire_key *key);

	/* The answer of the local request with this cookie. */
	void (*answer)(void *self, uint64_t cookie, const struct wire_key *key,
		       const struct protocol_answer *a);
};

struct protocol_counts {
	uint64_t local;         /* requests of this node */
	uint64_t served;        /* requests of peers */
	uint64_t hits;          /* of those, from the cache */
	uint64_t joined;        /* of both, that waited for a fetch of another requester */
	uint64_t storage_reads; /* started here */
	uint64_t storage_failures;
	uint64_t sent;       /* messages */
	uint64_t sent_data;  /* bytes of bodies */
	uint64_t received;   /* messages */
	uint64_t rerouted;   /* fetches that went on to another peer or to storage */
	uint64_t lost_peers; /* peers that became suspects */
	uint64_t returned_peers;
	uint64_t busy;          /* requests of peers that were put off */
	uint64_t stale_replies; /* answers that were too old on arrival */
	uint64_t late_replies;  /* of fetches that had ended */
	uint64_t errors;        /* local requests answered with a failure of storage */
};

struct protocol;

/* ops is borrowed. NULL: out of memory. */
struct protocol *protocol_new(const struct protocol_config *config, const struct protocol_ops *ops,
			      void *self) MUST_CHECK;
void protocol_free(struct protocol *p); /* sends and answers nothing; NULL is allowed */

/*
 * A request of this node that its cache cannot answer; ops->answer() follows later, never during
 * the call. max_age_ns: storage's word may be so old; at 0 it must be new. -EAGAIN: too many are in
 * fetch; -ENOMEM. Then nothing follows.
 */
int protocol_request(struct protocol *p, int64_t now_ns, const struct wire_key *key,
		     int64_t max_age_ns, uint64_t cookie) MUST_CHECK;

/* A verified REQUEST, REPLY, ALIVE or GOODBYE. epoch: the sender's, from the envelope. */
void protocol_receive(struct protocol *p, int64_t now_ns, uint32_t rank, uint64_t epoch,
		      const struct wire_message *m);

/* A part of a long message arrived: the peer lives. */
void protocol_heard(struct protocol *p, int64_t now_ns, uint32_t rank);

/* The transport is done with a message that had data: it is out, or was dropped. */
void protocol_sent(struct protocol *p, int64_t now_ns, uint32_t rank);

/* The connection to the peer failed, could not be made, or the peer refused us. */
void protocol_peer_failed(struct protocol *p, int64_t now_ns, uint32_t rank);

void protocol_storage_done(struct protocol *p, int64_t now_ns, uint64_t id,
			   const struct protocol_answer *a);

/* INT64_MAX: not before the next event. While nothing is in fetch, that is the keep-alive. */
int64_t protocol_deadline(const struct protocol *p);
void protocol_tick(struct protocol *p, int64_t now_ns);

/* This node ends: notifies its peers. */
void protocol_goodbye(struct protocol *p, int64_t now_ns);

const struct protocol_counts *protocol_counts(const struct protocol *p);
size_t protocol_in_flight(const struct protocol *p); /* keys */
size_t protocol_bytes(const struct protocol *p);     /* of memory */

#endif
