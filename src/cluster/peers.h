/* SPDX-License-Identifier: MIT */
/*
 * peers: what a node knows of each rank it has talked to: whether it answers, how much is
 * outstanding in both directions, and which fetches wait for its window.
 *
 * A peer is a fixed piece of memory and stays until peers_fini(). At most one per rank.
 */
#ifndef CLUSTER_PEERS_H
#define CLUSTER_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct fetch;

/* Times are of the clock that the events carry; 0 in a deadline: none. */
struct peer {
	uint32_t rank;
	bool is_suspect;  /* it was silent or unreachable, and gets no requests */
	bool is_upstream; /* we requested from it, so we keep the connection alive */
	bool has_epoch;
	uint64_t epoch;              /* of its process */
	int64_t heard_ns;            /* its last message */
	int64_t sent_ns;             /* our last message to it */
	int64_t waiting_ns;          /* since when we have waited for any sign; 0: we do not */
	int64_t probe_ns;            /* deadline of an answer that it gives at once when it lives */
	int64_t retry_ns;            /* suspect: when it may be probed again */
	int64_t backoff_ns;          /* suspect: between probes */
	uint32_t outstanding;        /* our requests there */
	uint32_t outstanding_chunks; /* those for chunks */
	uint32_t served;             /* its requests here */
	uint32_t sending;            /* replies with data that the transport still has */
	struct fetch *first, *last;  /* waiting for the window */
};

struct peers {
	struct peer **all; /* [count]; owned, as each peer */
	size_t count, cap;
	struct map by_rank;
};

void peers_fini(struct peers *p);
struct peer *peers_find(const struct peers *p, uint32_t rank); /* NULL: never talked to */
struct peer *peers_at(struct peers *p, uint32_t rank);         /* NULL: out of memory */
size_t peers_bytes(const struct peers *p);                     /* of memory */

#endif
