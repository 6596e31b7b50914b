/* SPDX-License-Identifier: MIT */
#include "cluster/transport/tcp_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cluster/envelope.h"
#include "cluster/tree.h"

#define READ_BYTES (64u << 10)  /* at once; longer messages are read as a whole */
#define READ_BUDGET (4u << 20)  /* of one link, before others have their turn */
#define KEPT_BYTES (256u << 10) /* of input memory, between messages */

struct tcp_link *link_new(struct link_context *context, int fd, bool is_outgoing, uint32_t rank,
			  const struct endpoint *peer)
{
	struct tcp_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->context = context;
	l->fd = fd;
	l->state = is_outgoing ? LINK_CONNECTING : LINK_GREETING;
	l->is_outgoing = is_outgoing;
	l->rank = rank;
	l->peer = *peer;
	l->deadline_ns = INT64_MAX;
	return l;
}

static void message_free(struct link_message *m)
{
	if (!m)
		return;
	buf_fini(&m->bytes);
	free(m);
}

/* The message is out, or lost. */
static void finish_message(struct tcp_link *l, struct link_message *m)
{
	const struct transport_config *c = &l->context->config;

	if (m->has_data)
		c->events->sent(c->self, l->rank);
	message_free(m);
}

static void drop_queue(struct tcp_link *l, struct fifo *queue)
{
	struct fifo_link *link;

	while ((link = fifo_take(queue)))
		finish_message(l, (struct link_message *)link);
}

void link_close(struct tcp_link *l)
{
	if (l->state == LINK_CLOSED)
		return;
	if (l->state == LINK_READY)
		l->context->counts.connected--;
	l->state = LINK_CLOSED;
	close(l->fd);
	l->fd = -1;
	if (l->writing)
		finish_message(l, l->writing);
	l->writing = NULL;
	drop_queue(l, &l->handshake);
	drop_queue(l, &l->small);
	drop_queue(l, &l->data);
}

void link_free(struct tcp_link *l)
{
	buf_fini(&l->in);
	gmac_free(l->mac);
	explicit_bzero(&l->session, sizeof(l->session));
	free(l);
}

static struct link_message *pack(const struct tcp_link *l, const struct wire_message *m,
				 uint32_t receiver, const struct envelope_mac *mac)
{
	const struct transport_config *c = &l->context->config;
	struct envelope envelope = { .sender = c->rank, .receiver = receiver, .epoch = c->epoch };
	struct link_message *packed = calloc(1, sizeof(*packed));

	if (!packed)
		return NULL;
	packed->has_data = m->body.len > 0;
	packed->is_handshake = mac != NULL;
	if (m->body.len)
		buf_reserve(&packed->bytes, m->body.len + 1024); /* one allocation */
	envelope_put(&packed->bytes, &envelope, m, mac);
	if (buf_error(&packed->bytes) == 0)
		return packed;
	message_free(packed);
	return NULL;
}

static int send_handshake(struct tcp_link *l, const struct wire_message *m, uint32_t receiver,
			  struct err *e)
{
	struct envelope_mac mac = hmac_mac(&l->context->secret);
	struct link_message *packed = pack(l, m, receiver, &mac);

	if (!packed)
		return err_nomem(e);
	fifo_put(&l->handshake, &packed->link);
	return 0;
}

static int make_nonce(unsigned char nonce[WIRE_NONCE], struct err *e)
{
	int rc = secret_random(nonce, WIRE_NONCE);

	return rc < 0 ? err_set(e, rc, "no random bytes: %s", strerror(-rc)) : 0;
}

int link_greet(struct tcp_link *l, struct err *e)
{
	unsigned char nonce[WIRE_NONCE];
	struct wire_message hello;

	if (make_nonce(nonce, e) < 0)
		return e->code;
	session_hello(&l->session, nonce, &hello);
	l->state = LINK_GREETING;
	return send_handshake(l, &hello, l->rank, e);
}

int link_send(struct tcp_link *l, const struct wire_message *m)
{
	struct link_message *packed = pack(l, m, l->rank, NULL);

	if (!packed)
		return -ENOMEM;
	if (packed->has_data) {
		fifo_put(&l->data, &packed->link);
		return 0;
	}
	fifo_put(&l->small, &packed->link);
	l->queued += packed->bytes.len;
	return l->queued > LINK_MAX_QUEUED ? -ENOBUFS : 0;
}

/* The next message to write; signs it. NULL: none may be written now. */
static struct link_message *take_next(struct tcp_link *l)
{
	struct link_message *m = (struct link_message *)fifo_take(&l->handshake);
	struct envelope_mac mac = gmac_mac(l->mac);

	if (m || l->state != LINK_READY)
		return m;
	m = (struct link_message *)fifo_take(&l->small);
	if (m)
		l->queued -= m->bytes.len;
	else
		m = (struct link_message *)fifo_take(&l->data);
	if (m)
		envelope_seal(m->bytes.data, m->bytes.len, session_next(&l->session), &mac);
	return m;
}

bool link_wants_write(const struct tcp_link *l)
{
	if (l->state == LINK_CLOSED || l->state == LINK_CONNECTING)
		return false;
	return l->writing || l->handshake.first ||
	       (l->state == LINK_READY && (l->small.first || l->data.first));
}

bool link_is_empty(const struct tcp_link *l)
{
	return !l->writing && !l->handshake.first && !l->small.first && !l->data.first;
}

int link_write(struct tcp_link *l, struct err *e)
{
	l->is_writable = true;
	while (link_wants_write(l)) {
		ssize_t n;

		if (!l->writing) {
			l->writing = take_next(l);
			l->written = 0;
		}
		n = send(l->fd, l->writing->bytes.data + l->written,
			 l->writing->bytes.len - l->written, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			l->is_writable = false;
			return 0;
		}
		if (n < 0)
			return err_errno(e, "connection");
		l->written += (size_t)n;
		l->context->counts.sent_bytes += (uint64_t)n;
		if (l->written < l->writing->bytes.len)
			continue;
		finish_message(l, l->writing);
		l->writing = NULL;
	}
	return 0;
}

/* One HELLO, one CHALLENGE, one PROOF: what is replayed makes no further work. */
static bool is_next(const struct tcp_link *l, enum wire_type type)
{
	if (l->state != LINK_GREETING)
		return false;
	if (l->is_outgoing)
		return type == WIRE_CHALLENGE;
	return type == (l->session.has_challenged ? WIRE_PROOF : WIRE_HELLO);
}

static int receive_handshake(struct tcp_link *l, const struct envelope *envelope,
			     const struct wire_message *m, struct err *e)
{
	struct envelope_mac secret = hmac_mac(&l->context->secret);
	unsigned char nonce[WIRE_NONCE];
	struct wire_message reply;
	int rc;

	if (!is_next(l, m->type))
		return err_set(e, -EPROTO, "rank %u sent a handshake out of order",
			       envelope->sender);
	l->rank = envelope->sender;
	if (make_nonce(nonce, e) < 0)
		return e->code;
	rc = session_receive(&l->session, &secret, envelope, m, nonce, &reply);
	if (rc < 0)
		return err_set(e, rc, "rank %u sent a handshake that does not fit",
			       envelope->sender);
	if (rc > 0 && send_handshake(l, &reply, envelope->sender, e) < 0)
		return e->code;
	if (!l->session.is_ready)
		return 0;
	l->mac = gmac_new(l->session.key);
	if (!l->mac)
		return err_nomem(e);
	l->state = LINK_READY;
	l->deadline_ns = INT64_MAX;
	l->context->counts.connected++;
	l->context->ready(l->context, l);
	return 0;
}

/* One whole envelope. */
static int receive(struct tcp_link *l, const void *bytes, const struct envelope *peeked,
		   struct err *e)
{
	const struct transport_config *c = &l->context->config;
	struct envelope_mac mac =
		peeked->is_handshake ? hmac_mac(&l->context->secret) : gmac_mac(l->mac);
	struct wire_message m;
	struct envelope envelope;

	if (!peeked->is_handshake && l->state != LINK_READY)
		return err_set(e, -EACCES, "message before the handshake");
	if (envelope_open(bytes, peeked->len, &mac, &envelope, &m, e) < 0)
		return e->code;
	if (envelope.receiver != c->rank || envelope.sender >= c->size ||
	    envelope.sender == c->rank ||
	    (l->rank != CLUSTER_NO_RANK && envelope.sender != l->rank))
		return err_set(e, -EPROTO, "message from rank %u to rank %u reached rank %u",
			       envelope.sender, envelope.receiver, c->rank);
	if (peeked->is_handshake)
		return receive_handshake(l, &envelope, &m, e);
	if (!session_accept(&l->session, &envelope)) {
		l->context->counts.replayed++;
		return 0;
	}
	if (m.body.is_remote)
		return err_set(e, -EPROTO, "rank %u sent data that TCP cannot read", l->rank);
	c->events->receive(c->self, l->rank, envelope.epoch, &m);
	return 0;
}

/* The whole messages of the input; *ret_missing: bytes of the message that is not whole. */
static int use_input(struct tcp_link *l, size_t *ret_missing, struct err *e)
{
	size_t at = 0;

	*ret_missing = 0;
	while (at < l->in.len) {
		struct envelope peeked;
		int rc = envelope_peek(l->in.data + at, l->in.len - at, &peeked, e);

		if (rc < 0)
			return rc;
		if (!rc)
			break;
		if (l->state != LINK_READY &&
		    (!peeked.is_handshake || peeked.len > LINK_HANDSHAKE_BYTES))
			return err_set(e, -EACCES, "message before the handshake");
		if (peeked.len > l->in.len - at) {
			*ret_missing = peeked.len - (l->in.len - at);
			break;
		}
		rc = receive(l, l->in.data + at, &peeked, e);
		if (rc < 0)
			return rc;
		at += peeked.len;
	}
	if (at) {
		memmove(l->in.data, l->in.data + at, l->in.len - at);
		l->in.len -= at;
	}
	if (!l->in.len && l->in.cap > KEPT_BYTES)
		buf_fini(&l->in);
	return 0;
}

int link_read(struct tcp_link *l, struct err *e)
{
	const struct transport_config *c = &l->context->config;
	size_t missing, budget = READ_BUDGET;

	if (use_input(l, &missing, e) < 0)
		return e->code;
	while (budget) {
		size_t room = l->state == LINK_READY ? READ_BYTES : LINK_HANDSHAKE_BYTES;
		void *into;
		ssize_t n;

		if (missing > room)
			room = missing;
		into = buf_reserve(&l->in, room);
		if (!into)
			return err_nomem(e);
		n = recv(l->fd, into, room, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n < 0)
			return err_errno(e, "connection");
		if (n == 0)
			return err_set(e, -ECONNRESET, "the peer closed the connection");
		buf_grew(&l->in, (size_t)n);
		budget -= (size_t)n < budget ? (size_t)n : budget;
		if (l->state == LINK_READY)
			l->context->counts.received_bytes += (uint64_t)n;
		if (use_input(l, &missing, e) < 0)
			return e->code;
		if (missing && l->state == LINK_READY)
			c->events->heard(c->self, l->rank);
	}
	return 0;
}
