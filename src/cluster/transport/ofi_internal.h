/* SPDX-License-Identifier: MIT */
/*
 * ofi_internal: what the parts of the libfabric transport share. ofi.c has the endpoint, its
 * completions and the life of the transport, ofi_peer.c handshakes and queues, ofi_bulk.c the data
 * that peers read from this node's memory, and that this node reads from theirs.
 *
 * There are no connections: each message names its sender, and is verified with the key of the
 * session with that rank. Data of more than OFI_INLINE_MAX bytes stays in registered memory under a
 * random key; the receiver of the message reads it, verifies its digest and sends WIRE_TAKEN, which
 * revokes the key.
 *
 * A provider may be silent about a dead peer for ever, so everything has a deadline. While a peer
 * owes an answer, ofi_probe.c reads a word of its memory: that fails when its process is dead, and
 * only takes long when the process is slow.
 */
#ifndef CLUSTER_TRANSPORT_OFI_INTERNAL_H
#define CLUSTER_TRANSPORT_OFI_INTERNAL_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/fifo.h"
#include "base/map.h"
#include "cluster/mac.h"
#include "cluster/session.h"
#include "cluster/transport/ofi_fabric.h"
#include "cluster/transport/transport.h"

#define OFI_MESSAGE_MAX 5120 /* with the longest path; others are of at most 4 KiB */
#define OFI_INLINE_MAX 3072  /* bytes of data within a message */
#define OFI_TRIES 64         /* in vain before a peer is lost: this process may be the slow one */
#define OFI_SLOTS 128        /* messages that are received or sent at once */

enum ofi_use { OFI_RECEIVE, OFI_SEND, OFI_READ, OFI_PROBE };

/* What a completion is about. */
struct ofi_op {
	struct fi_context2 context; /* first: libfabric's while the operation lasts */
	enum ofi_use use;
	uint32_t rank; /* all but RECEIVE */
};

struct ofi_slot {
	struct ofi_op op;      /* first */
	unsigned char *bytes;  /* [OFI_MESSAGE_MAX], of the transport's slot memory */
	struct ofi_slot *next; /* free, or to be posted again */
};

struct ofi_message {
	struct fifo_link link;
	struct buf bytes; /* an envelope, signed when it is sent */
	bool has_data;    /* within the message */
};

struct ofi_peer {
	uint32_t rank;
	struct ofi_address address; /* len 0: not known */
	fi_addr_t at;               /* of address; FI_ADDR_NOTAVAIL: none yet */
	struct ofi_address claimed; /* of a HELLO that is not proved; len 0: none */
	fi_addr_t claimed_at;
	struct session session;
	struct gmac *mac;     /* of the session; NULL before the first one */
	struct buf handshake; /* the message to send before the queue; empty: none */
	fi_addr_t handshake_at;
	struct fifo queue;
	size_t queued;          /* bytes of it */
	int64_t blocked_ns;     /* since when the queue does not move; 0: it does, or is empty */
	uint32_t blocked_tries; /* since then */
	int64_t greeted_ns;     /* the last HELLO; 0: none */
	int64_t unanswered_ns;  /* the first message since one came; 0: none */
	bool is_connected;      /* for the counts */
	bool is_failed;         /* to be failed by the next run */
	uint32_t lost_data;     /* events sent that are due */

	/* Whether its process lives. */
	uint32_t owed;           /* requests without a whole reply */
	int64_t owed_ns;         /* since when it owes, and nothing has come */
	int64_t probed_ns;       /* the last probe; 0: none */
	int64_t unprobed_ns;     /* since when no probe can be posted; 0: it can */
	uint32_t unprobed_tries; /* since then */
	struct ofi_op probe;     /* libfabric's while is_probing */
	bool is_probing;
	bool is_abandoned; /* the probe is of before the peer was lost */
};

/* Data that a peer reads. */
struct ofi_slab {
	struct ofi_slab *next;
	struct ofi_memory memory;
	uint32_t rank;
	uint64_t id;         /* of the reply */
	int64_t deadline_ns; /* to be revoked, then to be freed */
	bool is_revoked;     /* a read that had begun may still go on */
};

/* Data that this node reads. */
struct ofi_read {
	struct ofi_op op; /* first */
	struct ofi_read *next;
	struct ofi_memory memory;
	struct wire_message message; /* without data, until it is read */
	uint64_t epoch;
	int64_t deadline_ns;
	bool is_posted, is_abandoned;
};

struct ofi {
	struct transport_config config;
	struct hmac_key secret;
	struct transport_counts counts;
	struct ofi_fabric fabric;
	char endpoint[ENDPOINT_MAX];
	struct ofi_memory slot_memory;
	struct ofi_memory life;  /* the word that peers read, */
	struct ofi_memory probe; /* and where their words go */
	struct ofi_slot *slots;  /* [2 * OFI_SLOTS]; owned */
	struct ofi_slot *free_slots, *idle_receives;
	size_t sending;          /* slots with a send that is not complete */
	struct ofi_peer **peers; /* [count]; owned, as each one */
	size_t count, cap;
	struct map by_rank;
	struct ofi_slab *slabs;
	struct ofi_read *reads;
	size_t bulk_bytes; /* of slabs and reads */
	bool is_blocked;   /* something is to be tried again soon */
	bool has_made_events;
	bool has_logged_refusal;
};

/* --- ofi.c --- */

/* Copies. 0; -FI_EAGAIN: later; another -errno of libfabric. */
ssize_t ofi_post(struct ofi *t, uint32_t rank, fi_addr_t to, const struct buf *bytes) MUST_CHECK;
void ofi_refuse(struct ofi *t, const struct err *e); /* counts, and logs the first one */
void ofi_sent(struct ofi *t, uint32_t rank);

/* --- ofi_peer.c --- */

struct ofi_peer *ofi_peer_find(const struct ofi *t, uint32_t rank); /* NULL: not known */
struct ofi_peer *ofi_peer_at(struct ofi *t, uint32_t rank);         /* NULL: out of memory */
void ofi_peer_free(struct ofi *t, struct ofi_peer *p); /* with events for what was queued */

/* Copies. -ENOBUFS: the peer does not read; -ENOTCONN: nobody knows where it is; -ENOMEM. */
int ofi_peer_queue(struct ofi *t, struct ofi_peer *p, const struct wire_message *m) MUST_CHECK;

/* Sends what can be sent, and greets a peer that does not answer. */
void ofi_peer_settle(struct ofi *t, struct ofi_peer *p, int64_t now);

/* A message of the handshake, verified, from the rank. */
int ofi_peer_greet_back(struct ofi *t, const struct envelope *envelope,
			const struct wire_message *m, struct err *e) MUST_CHECK;

/* Ends everything with the peer, and makes the events. The next message begins anew. */
void ofi_peer_fail(struct ofi *t, struct ofi_peer *p);

/* --- ofi_probe.c --- */

int ofi_probe_open(struct ofi *t) MUST_CHECK; /* 0 or -errno; then own endpoint has the word */
void ofi_probe_close(struct ofi *t);          /* after the fabric */

void ofi_probe_requested(struct ofi_peer *p, int64_t now); /* the peer owes one more reply */
void ofi_probe_heard(struct ofi_peer *p, int64_t now);     /* a message of it came */
void ofi_probe_replied(struct ofi_peer *p);                /* a whole reply is here */
void ofi_probe_lost(struct ofi_peer *p);                   /* it owes nothing any more */

/* Probes a peer that owes and is silent; one that is dead becomes is_failed. */
void ofi_probe_settle(struct ofi *t, struct ofi_peer *p, int64_t now);
void ofi_probe_complete(struct ofi *t, uint32_t rank, bool is_read);

/* --- ofi_bulk.c --- */

/* Keeps a copy of the body for the rank, and makes it a remote one. -errno. */
int ofi_bulk_offer(struct ofi *t, uint32_t rank, struct wire_message *m) MUST_CHECK;
void ofi_bulk_taken(struct ofi *t, uint32_t rank, uint64_t id);

/* Begins to read the body of a message; the event comes when it is here. -errno. */
int ofi_bulk_read(struct ofi *t, uint32_t rank, uint64_t epoch,
		  const struct wire_message *m) MUST_CHECK;
void ofi_bulk_complete(struct ofi *t, struct ofi_read *r, bool is_read);

/* Posts reads that wait, and ends what is too late. */
void ofi_bulk_settle(struct ofi *t, int64_t now);
void ofi_bulk_fail(struct ofi *t, uint32_t rank); /* the peer is lost */
int64_t ofi_bulk_deadline(const struct ofi *t);
void ofi_bulk_revoke_all(struct ofi *t); /* with events; before the fabric is closed, */
void ofi_bulk_free_all(struct ofi *t);   /* and after it */

#endif
