/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cluster/transport/ofi_internal.h"

#define BLOCKED_NS NS_PER_S          /* nothing can be sent: the peer is lost, */
#define LOST_NS (NS_PER_S / 5)       /* the same, where messages went before */
#define GREETING_NS (5 * NS_PER_S)   /* without a session */
#define GREET_NS NS_PER_S            /* between greetings, which may be lost */
#define UNANSWERED_NS (2 * NS_PER_S) /* then the peer may have lost the session */
#define MAX_QUEUED (4u << 20)

struct ofi_peer *ofi_peer_find(const struct ofi *t, uint32_t rank)
{
	uint32_t i = map_get(&t->by_rank, rank);

	return i == MAP_NONE ? NULL : t->peers[i];
}

struct ofi_peer *ofi_peer_at(struct ofi *t, uint32_t rank)
{
	struct ofi_peer *p = ofi_peer_find(t, rank);

	if (p)
		return p;
	if (t->count == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 16;
		struct ofi_peer **peers = realloc(t->peers, cap * sizeof(*peers));

		if (!peers)
			return NULL;
		t->peers = peers;
		t->cap = cap;
	}
	p = calloc(1, sizeof(*p));
	if (!p || map_put(&t->by_rank, rank, (uint32_t)t->count) < 0) {
		free(p);
		return NULL;
	}
	p->rank = rank;
	p->at = p->claimed_at = FI_ADDR_NOTAVAIL;
	t->peers[t->count++] = p;
	return p;
}

static void free_message(struct ofi_message *m)
{
	buf_fini(&m->bytes);
	free(m);
}

static void take_message(struct ofi *t, struct ofi_peer *p)
{
	struct ofi_message *m = (struct ofi_message *)fifo_take(&p->queue);

	p->queued -= m->bytes.len;
	if (m->has_data)
		ofi_sent(t, p->rank);
	free_message(m);
}

void ofi_peer_free(struct ofi *t, struct ofi_peer *p)
{
	while (p->queue.first)
		take_message(t, p);
	buf_fini(&p->handshake);
	gmac_free(p->mac);
	explicit_bzero(&p->session, sizeof(p->session));
	free(p);
}

/* --- addresses --- */

static fi_addr_t insert(struct ofi *t, const struct ofi_address *a)
{
	fi_addr_t at = FI_ADDR_NOTAVAIL;

	if (a->len != t->fabric.own.len ||
	    fi_av_insert(t->fabric.addresses, a->bytes, 1, &at, 0, NULL) != 1)
		return FI_ADDR_NOTAVAIL;
	return at;
}

static void forget(struct ofi *t, fi_addr_t *at)
{
	if (*at != FI_ADDR_NOTAVAIL)
		(void)fi_av_remove(t->fabric.addresses, at, 1, 0);
	*at = FI_ADDR_NOTAVAIL;
}

static bool is_same(const struct ofi_address *a, const struct ofi_address *b)
{
	return a->len && ofi_address_equals(a, b);
}

/* Where the answer to a HELLO goes, which is not proved to be the rank's. */
static fi_addr_t claim(struct ofi *t, struct ofi_peer *p, const struct ofi_address *a)
{
	if (is_same(a, &p->address)) {
		if (p->at == FI_ADDR_NOTAVAIL)
			p->at = insert(t, a);
		return p->at;
	}
	if (is_same(a, &p->claimed))
		return p->claimed_at;
	forget(t, &p->claimed_at);
	p->claimed = *a;
	p->claimed_at = insert(t, a);
	return p->claimed_at;
}

static void adopt_claim(struct ofi *t, struct ofi_peer *p)
{
	if (!p->claimed.len)
		return;
	forget(t, &p->at);
	p->address = p->claimed;
	p->at = p->claimed_at;
	p->claimed.len = 0;
	p->claimed_at = FI_ADDR_NOTAVAIL;
}

/* --- handshake --- */

static void put_handshake(struct ofi *t, struct ofi_peer *p, fi_addr_t to,
			  const struct wire_message *m)
{
	struct envelope envelope = { .sender = t->config.rank,
				     .receiver = p->rank,
				     .epoch = t->config.epoch };
	struct envelope_mac mac = hmac_mac(&t->secret);

	buf_clear(&p->handshake);
	envelope_put(&p->handshake, &envelope, m, &mac);
	p->handshake_at = to;
	if (buf_error(&p->handshake) < 0)
		buf_clear(&p->handshake); /* greeted again later */
}

static void greet(struct ofi *t, struct ofi_peer *p, int64_t now)
{
	unsigned char nonce[WIRE_NONCE];
	struct wire_message hello;

	p->greeted_ns = now;
	if (p->at == FI_ADDR_NOTAVAIL)
		p->at = insert(t, &p->address);
	if (p->at == FI_ADDR_NOTAVAIL || secret_random(nonce, sizeof(nonce)) < 0)
		return;
	session_hello(&p->session, nonce, &hello);
	hello.endpoint = (struct str){ t->endpoint, strlen(t->endpoint) };
	put_handshake(t, p, p->at, &hello);
}

static int start_session(struct ofi *t, struct ofi_peer *p, bool is_proved, struct err *e)
{
	struct gmac *mac = gmac_new(p->session.key);

	if (!mac)
		return err_nomem(e);
	gmac_free(p->mac);
	p->mac = mac;
	if (is_proved)
		adopt_claim(t, p);
	if (!p->is_connected)
		t->counts.connected++;
	p->is_connected = true;
	p->blocked_ns = p->unanswered_ns = 0;
	return 0;
}

int ofi_peer_greet_back(struct ofi *t, const struct envelope *envelope,
			const struct wire_message *m, struct err *e)
{
	struct envelope_mac secret = hmac_mac(&t->secret);
	struct ofi_peer *p = ofi_peer_at(t, envelope->sender);
	fi_addr_t to = p ? p->at : FI_ADDR_NOTAVAIL;
	unsigned char nonce[WIRE_NONCE];
	char text[WIRE_MAX_ENDPOINT + 1] = "";
	struct ofi_address address;
	struct wire_message reply;
	int rc = secret_random(nonce, sizeof(nonce));

	if (!p || rc < 0)
		return err_nomem(e);
	if (m->type == WIRE_HELLO) {
		if (m->endpoint.len)
			memcpy(text, m->endpoint.ptr, m->endpoint.len);
		if (ofi_address_parse(text, &address, e) < 0)
			return e->code;
		/* Unless ours is on its way, and counts if it is the one of the smaller rank. */
		if (!p->queue.first || !is_same(&address, &p->address))
			p->session.has_greeted = false;
		to = claim(t, p, &address);
	}
	rc = session_receive(&p->session, &secret, envelope, m, nonce, &reply);
	if (rc < 0) /* a late answer to an earlier greeting, or one that was recorded */
		return err_set(e, rc, "rank %u sent a handshake that does not fit", p->rank);
	if (rc > 0)
		put_handshake(t, p, to, &reply);
	if (m->type == WIRE_HELLO)
		return 0;
	return start_session(t, p, m->type == WIRE_PROOF, e);
}

/* --- messages --- */

int ofi_peer_queue(struct ofi *t, struct ofi_peer *p, const struct wire_message *m)
{
	struct envelope envelope = { .sender = t->config.rank,
				     .receiver = p->rank,
				     .epoch = t->config.epoch };
	struct ofi_message *packed;

	if (!p->address.len)
		return -ENOTCONN;
	if (p->queued > MAX_QUEUED)
		return -ENOBUFS;
	packed = calloc(1, sizeof(*packed));
	if (!packed)
		return -ENOMEM;
	packed->has_data = m->body.len && !m->body.is_remote;
	envelope_put(&packed->bytes, &envelope, m, NULL);
	if (buf_error(&packed->bytes) < 0) {
		free_message(packed);
		return -ENOMEM;
	}
	p->queued += packed->bytes.len;
	fifo_put(&p->queue, &packed->link);
	return 0;
}

static ssize_t send_handshake(struct ofi *t, struct ofi_peer *p)
{
	ssize_t rc = 0;

	if (p->handshake.len)
		rc = ofi_post(t, p->rank, p->handshake_at, &p->handshake);
	if (!rc || rc != -FI_EAGAIN)
		buf_clear(&p->handshake); /* one that cannot be sent is as good as lost */
	return rc == -FI_EAGAIN ? rc : 0;
}

/* The order of the handshake and what follows under its key is kept. */
static ssize_t send_queue(struct ofi *t, struct ofi_peer *p, int64_t now)
{
	struct envelope_mac mac = gmac_mac(p->mac);
	ssize_t rc = send_handshake(t, p);

	while (!rc && p->session.is_ready && p->mac && p->queue.first) {
		struct buf *bytes = &((struct ofi_message *)p->queue.first)->bytes;

		if (p->at == FI_ADDR_NOTAVAIL)
			p->at = insert(t, &p->address);
		if (p->at == FI_ADDR_NOTAVAIL)
			return -FI_EHOSTUNREACH;
		envelope_seal(bytes->data, bytes->len, session_next(&p->session), &mac);
		rc = ofi_post(t, p->rank, p->at, bytes);
		if (rc)
			break;
		take_message(t, p);
		p->blocked_ns = 0;
		if (!p->unanswered_ns)
			p->unanswered_ns = now;
	}
	return rc;
}

static bool is_late(int64_t now, int64_t since, int64_t limit)
{
	return since && now - since >= limit;
}

/* How long nothing may be sent, as the last try ended with rc. */
static int64_t limit_of(const struct ofi_peer *p, ssize_t rc)
{
	if (rc != -FI_EAGAIN)
		return GREETING_NS;
	return p->is_connected && p->session.is_ready ? LOST_NS : BLOCKED_NS;
}

void ofi_peer_settle(struct ofi *t, struct ofi_peer *p, int64_t now)
{
	bool is_lost = is_late(now, p->unanswered_ns, UNANSWERED_NS);
	ssize_t rc;

	if (p->queue.first && (!p->session.is_ready || is_lost) &&
	    (!p->greeted_ns || is_late(now, p->greeted_ns, GREET_NS)))
		greet(t, p, now);
	rc = send_queue(t, p, now);
	if (rc && rc != -FI_EAGAIN)
		p->is_failed = true;
	if (rc == -FI_EAGAIN || p->queue.first)
		t->is_blocked = true;
	if (!p->queue.first)
		p->blocked_ns = 0;
	else if (!p->blocked_ns) {
		p->blocked_ns = now;
		p->blocked_tries = 0;
	}
	p->blocked_tries++;
	if (is_late(now, p->blocked_ns, limit_of(p, rc)) && p->blocked_tries >= OFI_TRIES)
		p->is_failed = true;
	ofi_probe_settle(t, p, now);
	if (p->is_failed)
		ofi_peer_fail(t, p);
	for (; p->lost_data; p->lost_data--)
		ofi_sent(t, p->rank);
}

void ofi_peer_fail(struct ofi *t, struct ofi_peer *p)
{
	const struct transport_config *c = &t->config;

	log_msg(LOG_DEBUG, "cluster", "rank %u cannot reach rank %u", c->rank, p->rank);
	p->is_failed = false;
	while (p->queue.first)
		take_message(t, p);
	ofi_bulk_fail(t, p->rank);
	ofi_probe_lost(p);
	buf_clear(&p->handshake);
	forget(t, &p->at);
	p->blocked_ns = p->greeted_ns = 0;
	if (p->is_connected) {
		t->counts.connected--;
		t->counts.losses++;
	}
	p->is_connected = false;
	t->has_made_events = true;
	c->events->failed(c->self, p->rank);
}
