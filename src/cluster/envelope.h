/* SPDX-License-Identifier: MIT */
/*
 * envelope: what is around a message on the wire: version, length, sender, sequence number, MAC.
 *
 * A receiver first calls envelope_peek(), which trusts nothing, then chooses the key by sender and
 * type, and envelope_open() verifies the MAC before anything of the message is decoded. HELLO,
 * CHALLENGE and PROOF are signed with the job's secret and carry both nonces, so that a recorded
 * one is worth nothing; all others with a key of the session, made of secret, nonces and ranks.
 * Sequence numbers of a session begin at 1, and a window refuses what was received before.
 *
 * Layout: magic u32, version u16, zero u16, length of the payload u32, sender u32, receiver u32,
 * epoch u64, sequence u64, payload, MAC of all before it.
 */
#ifndef CLUSTER_ENVELOPE_H
#define CLUSTER_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "cluster/wire.h"

#define ENVELOPE_VERSION 2
#define ENVELOPE_MAC 32
#define ENVELOPE_HEAD 36
#define ENVELOPE_SENDER 12   /* where it is */
#define ENVELOPE_SEQUENCE 28 /* the same */
#define ENVELOPE_MAX_PAYLOAD (WIRE_MAX_BODY + (8u << 10))

struct envelope {
	uint32_t sender, receiver; /* ranks */
	uint64_t epoch;            /* of the sender's process: another one after a restart */
	uint64_t sequence;         /* of the sender in this session; 0 in a handshake */
	bool is_handshake;         /* signed with the job's secret */
	size_t len;                /* bytes of the whole envelope */
};

/* A MAC under one key: mac.h. */
struct envelope_mac {
	void (*sign)(void *self, const void *bytes, size_t len, unsigned char ret[ENVELOPE_MAC]);
	void *self;
};

/* Appends an envelope; is_handshake and len are not used. mac NULL: envelope_seal() follows. */
void envelope_put(struct buf *b, const struct envelope *f, const struct wire_message *m,
		  const struct envelope_mac *mac);

/* Sets the sequence number and the MAC of a whole envelope. */
void envelope_seal(void *bytes, size_t len, uint64_t sequence, const struct envelope_mac *mac);

/*
 * Reads the head of what may be a part of a stream. 1: *ret is set, and the envelope has ret->len
 * bytes, of which more than len may be missing. 0: more bytes are needed. -EPROTO: no envelope,
 * with the reason; -EPROTONOSUPPORT: of another version, which the reason names.
 */
int envelope_peek(const void *bytes, size_t len, struct envelope *ret, struct err *e) MUST_CHECK;

/* bytes: one whole envelope. 0, -EACCES: the MAC is wrong; -EPROTO: malformed. The message borrows
 * from bytes. */
int envelope_open(const void *bytes, size_t len, const struct envelope_mac *mac,
		  struct envelope *ret, struct wire_message *ret_message, struct err *e) MUST_CHECK;

/* The sequence numbers that were received, of the last 64. All zero: none. */
struct envelope_window {
	uint64_t top;  /* the largest one */
	uint64_t seen; /* bit i: top - i */
};

/* false: it was received before, or is too old to tell. */
bool envelope_window_accept(struct envelope_window *w, uint64_t sequence);

/* The key of the session between the ranks a (which said hello) and b: a MAC under the secret. */
void envelope_session_key(const struct envelope_mac *secret, const struct wire_message *proof,
			  uint32_t a, uint32_t b, unsigned char ret[ENVELOPE_MAC]);

#endif
