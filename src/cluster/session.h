/* SPDX-License-Identifier: MIT */
/*
 * session: the handshake of two nodes, then the key and the sequence numbers between them. One
 * struct on each side; a transport has one a peer.
 *
 * HELLO (nonce_a), CHALLENGE (both nonces), PROOF (both): all under the job's secret, with fresh
 * nonces, so each side knows that the other one has the secret now. A session that works stays
 * until the next handshake is complete: a replayed HELLO changes nothing. When both sides say hello
 * at once, the one of the smaller rank counts.
 */
#ifndef CLUSTER_SESSION_H
#define CLUSTER_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "cluster/envelope.h"
#include "cluster/wire.h"

/* All zero: nothing was said. */
struct session {
	bool is_ready;                    /* the members of the second group hold */
	bool has_greeted, has_challenged; /* what we have sent in the current handshake */
	unsigned char nonce_a[WIRE_NONCE], nonce_b[WIRE_NONCE]; /* of the current handshake */
	uint64_t peer_epoch;                                    /* the same */

	unsigned char key[ENVELOPE_MAC];
	uint64_t epoch;    /* of the peer's process, for protocol_receive() */
	uint64_t sequence; /* of our last message */
	struct envelope_window window;
};

/* nonce: fresh random bytes, here and below. *ret is to be sent. */
void session_hello(struct session *s, const unsigned char nonce[WIRE_NONCE],
		   struct wire_message *ret);

/*
 * A handshake message, opened with the job's secret, in an envelope from the peer to us. 1: *ret is
 * to be sent; 0: nothing is; -EPROTO: it does not belong to this handshake, and changed nothing.
 * is_ready may have become true: there is a new key.
 */
int session_receive(struct session *s, const struct envelope_mac *secret,
		    const struct envelope *envelope, const struct wire_message *m,
		    const unsigned char nonce[WIRE_NONCE], struct wire_message *ret) MUST_CHECK;

/* The sequence number of our next message. */
uint64_t session_next(struct session *s);

/* May a message in this envelope, opened with the key, be used? Not when it is of another process
 * of the peer, or was received before. */
bool session_accept(struct session *s, const struct envelope *envelope) MUST_CHECK;

#endif
