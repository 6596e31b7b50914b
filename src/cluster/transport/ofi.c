/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cluster/transport/ofi_internal.h"

#define MAX_WAIT_NS (NS_PER_S / 5) /* some providers make progress only when they are called */
#define RETRY_NS (NS_PER_S / 1000)
#define BATCH 16
#define MAX_BATCHES 16 /* in one run */

/* --- slots --- */

static int open_memory(struct ofi *t, struct err *e)
{
	t->slots = calloc(2 * (size_t)OFI_SLOTS, sizeof(*t->slots));
	if (!t->slots || ofi_probe_open(t) ||
	    ofi_memory_open(&t->fabric, &t->slot_memory, 2 * (size_t)OFI_SLOTS * OFI_MESSAGE_MAX,
			    FI_SEND | FI_RECV))
		return err_set(e, -ENOMEM, "no memory that libfabric takes");
	for (size_t i = 0; i < 2 * (size_t)OFI_SLOTS; i++) {
		struct ofi_slot *s = t->slots + i;
		struct ofi_slot **list = i < OFI_SLOTS ? &t->free_slots : &t->idle_receives;

		s->bytes = t->slot_memory.bytes + i * OFI_MESSAGE_MAX;
		s->op.use = i < OFI_SLOTS ? OFI_SEND : OFI_RECEIVE;
		s->next = *list;
		*list = s;
	}
	return 0;
}

static void post_receives(struct ofi *t)
{
	while (t->idle_receives) {
		struct ofi_slot *s = t->idle_receives;

		if (fi_recv(t->fabric.endpoint, s->bytes, OFI_MESSAGE_MAX, t->slot_memory.desc,
			    FI_ADDR_UNSPEC, &s->op.context)) {
			t->is_blocked = true;
			return;
		}
		t->idle_receives = s->next;
	}
}

ssize_t ofi_post(struct ofi *t, uint32_t rank, fi_addr_t to, const struct buf *bytes)
{
	struct ofi_slot *s = t->free_slots;
	ssize_t rc;

	if (to == FI_ADDR_NOTAVAIL || bytes->len > OFI_MESSAGE_MAX)
		return -FI_EHOSTUNREACH;
	if (!s)
		return -FI_EAGAIN;
	memcpy(s->bytes, bytes->data, bytes->len);
	s->op.rank = rank;
	rc = fi_send(t->fabric.endpoint, s->bytes, bytes->len, t->slot_memory.desc, to,
		     &s->op.context);
	if (rc)
		return rc;
	t->free_slots = s->next;
	t->sending++;
	t->counts.sent_bytes += bytes->len;
	return 0;
}

void ofi_sent(struct ofi *t, uint32_t rank)
{
	t->has_made_events = true;
	t->config.events->sent(t->config.self, rank);
}

void ofi_refuse(struct ofi *t, const struct err *e)
{
	t->counts.refused++;
	if (t->has_logged_refusal)
		return;
	t->has_logged_refusal = true;
	log_msg(LOG_WARN, "cluster", "refused a message: %s; others are only counted", e->msg);
}

/* --- receiving --- */

static int receive_message(struct ofi *t, struct ofi_peer *p, const struct envelope *envelope,
			   const struct wire_message *m, struct err *e)
{
	const struct transport_config *c = &t->config;

	if (!session_accept(&p->session, envelope)) {
		t->counts.replayed++;
		return 0;
	}
	p->unanswered_ns = 0;
	ofi_probe_heard(p, clock_mono_ns());
	if (m->type == WIRE_REPLY && !m->body.is_remote)
		ofi_probe_replied(p);
	if (m->type == WIRE_TAKEN) {
		ofi_bulk_taken(t, p->rank, m->id);
		c->events->heard(c->self, p->rank);
	} else if (m->body.is_remote) {
		c->events->heard(c->self, p->rank);
		if (!m->body.len || ofi_bulk_read(t, p->rank, envelope->epoch, m) < 0)
			return err_set(e, -EPROTO, "data of rank %u cannot be read", p->rank);
	} else {
		c->events->receive(c->self, p->rank, envelope->epoch, m);
	}
	return 0;
}

static int receive(struct ofi *t, const unsigned char *bytes, size_t len, struct err *e)
{
	struct envelope_mac mac = hmac_mac(&t->secret);
	struct envelope envelope;
	struct wire_message m;
	struct ofi_peer *p = NULL;
	int rc = envelope_peek(bytes, len, &envelope, e);

	if (rc <= 0)
		return rc ? rc : err_set(e, -EPROTO, "message of %zu bytes is not whole", len);
	if (envelope.receiver != t->config.rank || envelope.sender >= t->config.size ||
	    envelope.sender == t->config.rank)
		return err_set(e, -EPROTO, "message from rank %u to rank %u reached rank %u",
			       envelope.sender, envelope.receiver, t->config.rank);
	if (!envelope.is_handshake) {
		p = ofi_peer_find(t, envelope.sender);
		if (!p || !p->mac)
			return err_set(e, -EACCES, "message before the handshake");
		mac = gmac_mac(p->mac);
	}
	if (envelope_open(bytes, len, &mac, &envelope, &m, e) < 0)
		return e->code;
	t->counts.received_bytes += len;
	if (envelope.is_handshake)
		return ofi_peer_greet_back(t, &envelope, &m, e);
	return receive_message(t, p, &envelope, &m, e);
}

static void complete(struct ofi *t, struct ofi_op *op, size_t len, bool is_done)
{
	struct ofi_slot *s = (struct ofi_slot *)op;
	struct ofi_peer *p;
	struct err e;

	t->has_made_events = true;
	switch (op->use) {
	case OFI_RECEIVE:
		err_set(&e, -EPROTO, "message that is too long");
		if (!is_done || receive(t, s->bytes, len, &e) < 0)
			ofi_refuse(t, &e);
		s->next = t->idle_receives;
		t->idle_receives = s;
		break;
	case OFI_SEND:
		s->next = t->free_slots;
		t->free_slots = s;
		t->sending--;
		p = ofi_peer_find(t, op->rank);
		if (!is_done && p)
			p->is_failed = true;
		break;
	case OFI_READ:
		ofi_bulk_complete(t, (struct ofi_read *)op, is_done);
		break;
	case OFI_PROBE:
		ofi_probe_complete(t, op->rank, is_done);
		break;
	}
}

static void take_error(struct ofi *t)
{
	struct fi_cq_err_entry error = { 0 };

	if (fi_cq_readerr(t->fabric.completions, &error, 0) == 1 && error.op_context)
		complete(t, error.op_context, 0, false);
}

/* Waits until until_ns at most. */
static void take_completions(struct ofi *t, int64_t until_ns)
{
	struct fi_cq_msg_entry entries[BATCH];
	int64_t left = until_ns - clock_mono_ns();
	ssize_t count;

	left = left > MAX_WAIT_NS ? MAX_WAIT_NS : left;
	count = left > 0 ? fi_cq_sread(t->fabric.completions, entries, BATCH, NULL,
				       (int)((left + 999999) / 1000000))
			 : fi_cq_read(t->fabric.completions, entries, BATCH);
	for (int i = 0; i < MAX_BATCHES; i++) {
		for (ssize_t j = 0; j < count; j++)
			complete(t, entries[j].op_context, entries[j].len, true);
		if (count == -FI_EAVAIL)
			take_error(t);
		else if (count <= 0)
			return;
		post_receives(t);
		count = fi_cq_read(t->fabric.completions, entries, BATCH);
	}
	t->has_made_events = true; /* there may be more */
}

/* --- the transport --- */

static void settle(struct ofi *t)
{
	int64_t now = clock_mono_ns();

	t->is_blocked = false;
	post_receives(t);
	ofi_bulk_settle(t, now);
	for (size_t i = 0; i < t->count; i++)
		ofi_peer_settle(t, t->peers[i], now);
}

static void ofi_run(void *self, int64_t until_ns)
{
	struct ofi *t = self;
	int64_t now = clock_mono_ns(), deadline = ofi_bulk_deadline(t);

	t->has_made_events = false;
	settle(t);
	if (deadline < until_ns)
		until_ns = deadline;
	if (t->is_blocked && now + RETRY_NS < until_ns)
		until_ns = now + RETRY_NS;
	/* Events that were made may have moved the protocol's deadline. */
	take_completions(t, t->has_made_events ? now : until_ns);
	settle(t);
}

static void ofi_send(void *self, uint32_t rank, const struct wire_message *m)
{
	struct ofi *t = self;
	struct ofi_peer *p = ofi_peer_at(t, rank);
	struct wire_message packed = *m;
	int rc = 0;

	if (!p)
		return; /* out of memory: the peer is silent, so the protocol goes on without it */
	if (!p->address.len)
		rc = -ENOTCONN;
	else if (m->body.len > OFI_INLINE_MAX)
		rc = ofi_bulk_offer(t, rank, &packed);
	if (rc == 0)
		rc = ofi_peer_queue(t, p, &packed);
	if (rc == 0 && m->type == WIRE_REQUEST)
		ofi_probe_requested(p, clock_mono_ns());
	if (rc == 0)
		return;
	p->is_failed = true; /* which makes the events of offered data */
	p->lost_data += packed.body.len && !packed.body.is_remote;
}

static bool is_idle(const struct ofi *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->peers[i]->session.is_ready && t->peers[i]->queue.first)
			return false;
	return !t->sending;
}

static void ofi_flush(void *self, int64_t until_ns)
{
	struct ofi *t = self;

	for (;;) {
		settle(t);
		if (is_idle(t) || clock_mono_ns() >= until_ns)
			return;
		take_completions(t, clock_mono_ns() + RETRY_NS);
	}
}

static void ofi_wake(void *self)
{
	const struct ofi *t = self;

	(void)fi_cq_signal(t->fabric.completions);
}

static int ofi_set_endpoint(void *self, uint32_t rank, const char *endpoint, struct err *e)
{
	struct ofi *t = self;
	struct ofi_address parsed;
	struct ofi_peer *p;

	if (ofi_address_parse(endpoint, &parsed, e) < 0)
		return err_wrap(e, "rank %u", rank);
	if (strcmp(parsed.provider, t->fabric.own.provider) != 0 || parsed.len != t->fabric.own.len)
		return err_set(e, -EINVAL, "rank %u uses %s of libfabric, this node %s", rank,
			       parsed.provider, t->fabric.own.provider);
	p = ofi_peer_at(t, rank);
	if (!p)
		return err_nomem(e);
	if (ofi_address_equals(&p->address, &parsed))
		return 0;
	if (p->at != FI_ADDR_NOTAVAIL)
		(void)fi_av_remove(t->fabric.addresses, &p->at, 1, 0);
	p->at = FI_ADDR_NOTAVAIL;
	p->address = parsed;
	p->session = (struct session){ 0 }; /* it was started again */
	ofi_probe_lost(p);
	return 0;
}

static void ofi_counts(void *self, struct transport_counts *ret)
{
	*ret = ((const struct ofi *)self)->counts;
}

/* --- open and close --- */

static void ofi_close(void *self)
{
	struct ofi *t = self;

	for (size_t i = 0; i < t->count; i++)
		ofi_peer_free(t, t->peers[i]);
	t->count = 0;
	map_clear(&t->by_rank);
	ofi_bulk_revoke_all(t);
	ofi_memory_revoke(&t->slot_memory);
	ofi_memory_revoke(&t->life);
	ofi_memory_revoke(&t->probe);
	ofi_fabric_close(&t->fabric);
	ofi_bulk_free_all(t);
	ofi_memory_free(&t->slot_memory);
	ofi_probe_close(t);
	explicit_bzero(&t->secret, sizeof(t->secret));
	map_fini(&t->by_rank);
	free(t->peers);
	free(t->slots);
	free(t);
}

static int ofi_open(const struct transport_config *config, void **ret,
		    char ret_endpoint[ENDPOINT_MAX], struct err *e)
{
	struct ofi *t;

	if (mac_open(e) < 0)
		return e->code;
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(e);
	t->config = *config;
	t->config.secret = NULL; /* copied below */
	memcpy(t->secret.bytes, config->secret->bytes, sizeof(t->secret.bytes));
	if (ofi_fabric_open(&t->fabric, config->listen, config->needs_card, e) < 0 ||
	    open_memory(t, e) < 0) {
		ofi_close(t);
		return e->code;
	}
	post_receives(t);
	ofi_address_print(&t->fabric.own, t->endpoint);
	memcpy(ret_endpoint, t->endpoint, sizeof(t->endpoint));
	*ret = t;
	return 0;
}

const struct transport transport_ofi = {
	.name = "ofi",
	.open = ofi_open,
	.close = ofi_close,
	.set_endpoint = ofi_set_endpoint,
	.send = ofi_send,
	.run = ofi_run,
	.wake = ofi_wake,
	.flush = ofi_flush,
	.counts = ofi_counts,
};
