/* SPDX-License-Identifier: MIT */
/*
 * mac: the MACs of messages, by libcrypto, which is opened when it is used.
 *
 * Messages of a handshake and keys are made by HMAC-SHA-256 under the job's secret. Messages of a
 * session have an AES-256-GMAC under its key, which costs a third; its nonce is the sender and the
 * sequence number, which no other message of the session has.
 */
#ifndef CLUSTER_MAC_H
#define CLUSTER_MAC_H

#include "base/err.h"
#include "base/macros.h"
#include "cluster/envelope.h"

/* Opens libcrypto, before all below; once is enough for a process, and is done by one thread.
 * -ENOTSUP: it is not here. */
int mac_open(struct err *e) MUST_CHECK;

/* In memory that stays where it is: hmac_mac() borrows it. */
struct hmac_key {
	unsigned char bytes[ENVELOPE_MAC];
};

struct envelope_mac hmac_mac(const struct hmac_key *key); /* any thread */

/* SHA-256; any thread. -EIO: libcrypto fails. */
int mac_digest(const void *bytes, size_t len, unsigned char ret[WIRE_DIGEST]) MUST_CHECK;

/* For whole envelopes only. One thread at a time. */
struct gmac;
struct gmac *gmac_new(const unsigned char key[ENVELOPE_MAC]) MUST_CHECK; /* NULL: no memory */
void gmac_free(struct gmac *g);                                          /* NULL is allowed */
struct envelope_mac gmac_mac(struct gmac *g);

#endif
