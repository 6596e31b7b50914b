/* SPDX-License-Identifier: MIT */
/*
 * protocol_internal: what the parts of the protocol share. protocol.c has the events,
 * protocol_fetch.c the way of one fetch, protocol_tick.c everything that happens by time.
 *
 * A fetch goes up its route (cluster_tree_route), then reads this node's storage. When that fails,
 * requesters of other nodes get that as reply, so that the next in line tries; for this node's own
 * requests some nodes below get requests to read theirs (direct).
 */
#ifndef CLUSTER_PROTOCOL_INTERNAL_H
#define CLUSTER_PROTOCOL_INTERNAL_H

#include "cluster/fetches.h"
#include "cluster/peers.h"
#include "cluster/protocol.h"
#include "cluster/tree.h"

struct protocol {
	struct protocol_config config;
	const struct protocol_ops *ops;
	void *self;
	struct fetches fetches;
	struct peers peers;
	struct protocol_counts counts;
	size_t locals;  /* local waiters of all fetches */
	size_t sending; /* replies with data that the transport holds */
	int64_t deadline_ns;
};

struct cluster_tree protocol_tree(const struct protocol *p, uint64_t path_hash, uint32_t chunk);
void protocol_send(struct protocol *p, int64_t now_ns, struct peer *peer,
		   const struct wire_message *m);
/* Something is in fetch: ticks begin. */
void protocol_touch(struct protocol *p, int64_t now_ns);

/* Sends the fetch to the first peer from its hop on that is no suspect, else to storage. Each
 * function with "may end" in its comment may remove the fetch; it is then not to be used again. */
void fetch_dispatch(struct protocol *p, int64_t now_ns, struct fetch *f); /* may end it */

/* The peer that the fetch is at has failed it: to the next one. May end it. */
void fetch_reroute(struct protocol *p, int64_t now_ns, struct fetch *f);

/* Puts the fetch in the window of the peer, or in its queue. */
void fetch_send(struct protocol *p, int64_t now_ns, struct fetch *f, struct peer *peer);

/* No peer is left. Reads storage, or, when that has failed, goes on without. May end it. */
void fetch_exhausted(struct protocol *p, int64_t now_ns, struct fetch *f);

void fetch_read_storage(struct protocol *p, int64_t now_ns, struct fetch *f);
/* An answer came. Waiters for whom it is too old stay, and the fetch begins again. May end it. */
void fetch_answer(struct protocol *p, int64_t now_ns, struct fetch *f,
		  const struct protocol_answer *a);

/* From the first peer of the route again; is_straight: from storage. May end it. */
void fetch_repeat(struct protocol *p, int64_t now_ns, struct fetch *f, bool is_straight);

/* Ends one waiter with a failure of storage. */
void fetch_fail_waiter(struct protocol *p, int64_t now_ns, struct fetch *f, struct waiter **link);
/* Leaves the peer's window or queue. */
void fetch_release(struct protocol *p, int64_t now_ns, struct fetch *f);
/* Ends a fetch whose waiters have all left. */
void fetch_end(struct protocol *p, int64_t now_ns, struct fetch *f);

/* The peer gets no requests before it is heard again; its fetches go elsewhere. */
void peer_lost(struct protocol *p, int64_t now_ns, struct peer *peer);
/* The peer does not wait for anything any more. */
void peer_drop_waiters(struct protocol *p, int64_t now_ns, struct peer *peer);

#endif
