/* SPDX-License-Identifier: MIT */
/*
 * fetches: the table of in-fetch requests of a node. One fetch a key; all requesters of the key
 * wait for it, local ones and other nodes.
 *
 * Fetches and waiters are bounded, and their memory is used again, so that a steady stream of
 * requests allocates nothing. A fetch never moves. Its id is never used again for another one.
 */
#ifndef CLUSTER_FETCHES_H
#define CLUSTER_FETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cluster/wire.h"

struct waiter {
	struct waiter *next;
	uint32_t rank;      /* of the requester; CLUSTER_NO_RANK: this node */
	uint64_t id;        /* its number: the local cookie, or the peer's */
	int64_t since_ns;   /* arrival */
	int64_t max_age_ns; /* storage's word may be so old, or be given after since_ns */
};

/* Where a fetch is in the overlay. */
enum fetch_state {
	FETCH_FREE,
	FETCH_QUEUED,    /* for the window of rank */
	FETCH_SENT,      /* a request is at rank */
	FETCH_RESTING,   /* rank was busy; CLUSTER_NO_RANK: nobody can answer now */
	FETCH_EXHAUSTED, /* no peer is left: what counts is our own storage */
};

/* Our own read of storage for a fetch; it may run beside a request to a peer. */
enum fetch_reading {
	READING_NOT,
	READING_NOW,
	READING_LATE,   /* beyond its deadline: counted as failed, but its answer is welcome */
	READING_FAILED, /* with an error that is no answer */
};

struct fetch {
	struct wire_key key; /* path borrowed from below */
	struct buf path;     /* keeps its memory for the next fetch */
	uint64_t path_hash;
	uint64_t id;         /* for our own read of storage */
	uint64_t message_id; /* for requests to peers; renewed before a peer may get another one */
	struct fetch *next_in_bucket, *next_in_queue, *next_free;
	struct waiter *waiters;
	enum fetch_state state;
	enum fetch_reading reading;
	uint32_t rank;            /* QUEUED, ASKED, RESTING: the peer */
	uint32_t hop;             /* of the route: the peer's index */
	struct wire_ranks failed; /* nodes whose storage failed, as far as we know */
	uint8_t direct;   /* requests to nodes below us to read their storage, as ours failed */
	bool is_repeated; /* it began again: an answer was too old, or all nodes failed */
	int error;        /* the last failure, a positive errno; 0: none */
	int64_t first_sent_ns; /* the first request with this message_id; 0: none yet */
	int64_t sent_ns;       /* the request that is at rank */
	int64_t hop_ns;        /* deadline of rank, or the end of the rest */
	int64_t reading_ns;    /* since when we read storage */
};

#define FETCH_BUCKETS 256

struct fetches {
	struct fetch **all; /* [slots]; owned, as each fetch and its waiters; some are free */
	size_t slots, cap;
	size_t count; /* in use */
	size_t max;
	struct fetch *free;
	struct waiter *free_waiters;
	size_t waiters;      /* allocated */
	uint32_t generation; /* upper half of the last id; begins anywhere */
	struct fetch *buckets[FETCH_BUCKETS];
};

void fetches_fini(struct fetches *f);

/* NULL: there is none. hash: of key->path. */
struct fetch *fetches_find(const struct fetches *f, const struct wire_key *key, uint64_t hash);
struct fetch *fetches_by_id(const struct fetches *f, uint64_t id); /* one of both ids */
/* A new message_id: replies to earlier requests are not accepted any more. */
void fetches_renew(struct fetches *f, struct fetch *fetch);

/* A new fetch without waiters. NULL: as many as may be, or out of memory. */
struct fetch *fetches_add(struct fetches *f, const struct wire_key *key, uint64_t hash);
void fetches_remove(struct fetches *f, struct fetch *fetch); /* it has no waiters */

/* NULL: out of memory. A peer waits once for a fetch: its second request replaces the first,
 * *ret_is_new shows it. */
struct waiter *fetches_join(struct fetches *f, struct fetch *fetch, uint32_t rank, uint64_t id,
			    bool *ret_is_new);
/* Takes the waiter out of the list at *link, and frees it. */
void fetches_leave(struct fetches *f, struct waiter **link);

bool fetch_has_local_waiter(const struct fetch *fetch);
size_t fetches_bytes(const struct fetches *f); /* of memory */

#endif
