/* SPDX-License-Identifier: MIT */
/*
 * tcp_link: one connection of the TCP transport: its handshake, its queues, its input.
 *
 * Before its session is complete a link reads nothing but messages of the handshake, in at most
 * LINK_HANDSHAKE_BYTES, so an unknown peer costs a little memory and one HMAC a message. Messages
 * are signed when they are about to be written, so their sequence numbers are in the order of the
 * stream. A function that returns -errno leaves a link that is only to be closed.
 */
#ifndef CLUSTER_TRANSPORT_TCP_LINK_H
#define CLUSTER_TRANSPORT_TCP_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fifo.h"
#include "base/macros.h"
#include "cluster/mac.h"
#include "cluster/session.h"
#include "cluster/transport/transport.h"

#define LINK_HANDSHAKE_BYTES 512
/* Queued bytes of messages without data. Requests and their replies are bounded by the protocol, so
 * more means that the peer does not read. */
#define LINK_MAX_QUEUED (4u << 20)

enum link_state {
	LINK_CONNECTING,
	LINK_GREETING, /* the handshake */
	LINK_READY,
	LINK_CLOSED, /* to be freed */
};

struct tcp_link;

/* What the links of a transport share. */
struct link_context {
	/* The session of a link is complete; called before its first message is received. */
	void (*ready)(struct link_context *context, struct tcp_link *l);
	struct transport_config config;
	struct hmac_key secret;
	struct transport_counts counts;
};

struct link_message {
	struct fifo_link link;
	struct buf bytes; /* an envelope */
	bool has_data;
	bool is_handshake; /* it is signed already */
};

struct tcp_link {
	struct link_context *context;
	int fd;
	enum link_state state;
	bool is_outgoing;
	bool is_writable;    /* the last write did not block */
	bool is_failed;      /* to be closed by the next run */
	uint32_t rank;       /* incoming: CLUSTER_NO_RANK before HELLO, not proved before READY */
	uint32_t interest;   /* in events of epoll */
	int64_t deadline_ns; /* of connecting and the handshake; INT64_MAX: none */
	struct endpoint peer;
	struct session session;
	struct gmac *mac; /* of the session; READY */
	struct buf in;    /* what was read and not yet used */
	/* Handshake, then messages without data, then with data. */
	struct fifo handshake, small, data;
	size_t queued;                /* bytes of small */
	struct link_message *writing; /* partly out */
	size_t written;
};

struct tcp_link *link_new(struct link_context *context, int fd, bool is_outgoing, uint32_t rank,
			  const struct endpoint *peer); /* takes fd on success. NULL: no memory */

/* Drops what is queued, with an event sent for each message with data, and closes the descriptor.
 */
void link_close(struct tcp_link *l);
void link_free(struct tcp_link *l); /* closed */

/* An outgoing link is connected: sends its first message. */
int link_greet(struct tcp_link *l, struct err *e) MUST_CHECK;

/* Queues a copy. -ENOBUFS: the peer does not read; -ENOMEM. */
int link_send(struct tcp_link *l, const struct wire_message *m) MUST_CHECK;

/* Writes until the socket is full or nothing is left. */
int link_write(struct tcp_link *l, struct err *e) MUST_CHECK;
bool link_wants_write(const struct tcp_link *l);
bool link_is_empty(const struct tcp_link *l); /* nothing is queued */

/*
 * Reads what is there, within limits, and makes events. -ECONNRESET: the end of the stream;
 * -EACCES, -EPROTO: no node of this job, or one that has gone wrong; -EPROTONOSUPPORT: of another
 * version.
 */
int link_read(struct tcp_link *l, struct err *e) MUST_CHECK;

#endif
