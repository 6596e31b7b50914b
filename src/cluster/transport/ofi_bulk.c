/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/transport/ofi_internal.h"

#define MAX_BULK ((size_t)256 << 20)  /* bytes of both directions */
#define OFFER_NS (10 * NS_PER_S)      /* until a peer has read */
#define QUARANTINE_NS (30 * NS_PER_S) /* a read that had begun when its key was revoked */
#define READ_NS (2 * NS_PER_S)

/* --- offered --- */

int ofi_bulk_offer(struct ofi *t, uint32_t rank, struct wire_message *m)
{
	struct ofi_slab *s;
	int rc;

	if (t->bulk_bytes + m->body.len > MAX_BULK)
		return -ENOBUFS;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	rc = mac_digest(m->body.bytes, m->body.len, m->body.digest);
	if (rc == 0)
		rc = ofi_memory_open(&t->fabric, &s->memory, m->body.len, FI_REMOTE_READ);
	if (rc < 0) {
		free(s);
		return rc;
	}
	memcpy(s->memory.bytes, m->body.bytes, m->body.len);
	s->rank = rank;
	s->id = m->id;
	s->deadline_ns = clock_mono_ns() + OFFER_NS;
	s->next = t->slabs;
	t->slabs = s;
	t->bulk_bytes += s->memory.len;
	m->body.bytes = NULL;
	m->body.is_remote = true;
	m->body.address = s->memory.address;
	m->body.memory_key = s->memory.key;
	return 0;
}

static void free_slab(struct ofi *t, struct ofi_slab **link)
{
	struct ofi_slab *s = *link;

	*link = s->next;
	t->bulk_bytes -= s->memory.len;
	ofi_memory_free(&s->memory);
	free(s);
}

/* Nobody reads it any more; the bytes stay for a read that goes on. */
static void revoke(struct ofi *t, struct ofi_slab *s, int64_t now)
{
	ofi_memory_revoke(&s->memory);
	s->is_revoked = true;
	s->deadline_ns = now + QUARANTINE_NS;
	ofi_sent(t, s->rank);
}

void ofi_bulk_taken(struct ofi *t, uint32_t rank, uint64_t id)
{
	for (struct ofi_slab **link = &t->slabs; *link; link = &(*link)->next) {
		if ((*link)->rank != rank || (*link)->id != id || (*link)->is_revoked)
			continue;
		free_slab(t, link);
		ofi_sent(t, rank);
		return;
	}
}

/* --- read --- */

static void free_read(struct ofi *t, struct ofi_read *r)
{
	struct ofi_read **link = &t->reads;

	while (*link != r)
		link = &(*link)->next;
	*link = r->next;
	t->bulk_bytes -= r->memory.len;
	ofi_memory_free(&r->memory);
	free(r);
}

/* false: the peer cannot be read. */
static bool post_read(struct ofi *t, struct ofi_read *r)
{
	const struct wire_body *body = &r->message.body;
	const struct ofi_peer *p = ofi_peer_find(t, r->op.rank);
	ssize_t rc;

	if (!p || p->at == FI_ADDR_NOTAVAIL)
		return false;
	rc = fi_read(t->fabric.endpoint, r->memory.bytes, r->memory.len, r->memory.desc, p->at,
		     body->address, body->memory_key, &r->op.context);
	r->is_posted = rc == 0;
	t->is_blocked = t->is_blocked || rc == -FI_EAGAIN;
	return rc == 0 || rc == -FI_EAGAIN;
}

int ofi_bulk_read(struct ofi *t, uint32_t rank, uint64_t epoch, const struct wire_message *m)
{
	struct ofi_read *r;
	int rc;

	if (t->bulk_bytes + m->body.len > MAX_BULK)
		return -ENOBUFS;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	rc = ofi_memory_open(&t->fabric, &r->memory, m->body.len, FI_READ);
	if (rc < 0) {
		free(r);
		return rc;
	}
	r->op = (struct ofi_op){ .use = OFI_READ, .rank = rank };
	r->message = *m;
	r->epoch = epoch;
	r->deadline_ns = clock_mono_ns() + READ_NS;
	r->next = t->reads;
	t->reads = r;
	t->bulk_bytes += r->memory.len;
	if (post_read(t, r))
		return 0;
	free_read(t, r);
	return -EHOSTUNREACH;
}

/* The data is here: the peer may forget it. */
static void deliver(struct ofi *t, struct ofi_read *r)
{
	const struct transport_config *c = &t->config;
	struct wire_message taken = { .type = WIRE_TAKEN, .id = r->message.id };
	struct wire_body *body = &r->message.body;
	struct ofi_peer *p = ofi_peer_find(t, r->op.rank);
	unsigned char digest[WIRE_DIGEST];
	struct err e;

	if (p)
		ofi_probe_heard(p, clock_mono_ns());
	if (p && ofi_peer_queue(t, p, &taken) < 0)
		p->is_failed = true;
	if (mac_digest(r->memory.bytes, r->memory.len, digest) < 0 ||
	    memcmp(digest, body->digest, sizeof(digest)) != 0) {
		err_set(&e, -EACCES, "data of rank %u is not what it announced", r->op.rank);
		ofi_refuse(t, &e);
		return;
	}
	*body = (struct wire_body){ .bytes = r->memory.bytes, .len = (uint32_t)r->memory.len };
	t->counts.received_bytes += body->len;
	c->events->receive(c->self, r->op.rank, r->epoch, &r->message);
}

void ofi_bulk_complete(struct ofi *t, struct ofi_read *r, bool is_read)
{
	struct ofi_peer *p = ofi_peer_find(t, r->op.rank);

	if (!r->is_abandoned && p)
		ofi_probe_replied(p);
	if (!r->is_abandoned && is_read)
		deliver(t, r);
	else if (!r->is_abandoned && p)
		p->is_failed = true;
	free_read(t, r);
}

/* --- both --- */

static void settle_reads(struct ofi *t, int64_t now)
{
	struct ofi_read *next;

	for (struct ofi_read *r = t->reads; r; r = next) {
		struct ofi_peer *p = ofi_peer_find(t, r->op.rank);

		next = r->next;
		if (r->is_abandoned)
			continue; /* libfabric has the memory until it completes */
		if (p && (now >= r->deadline_ns || (!r->is_posted && !post_read(t, r))))
			p->is_failed = true;
	}
}

void ofi_bulk_settle(struct ofi *t, int64_t now)
{
	struct ofi_slab **link = &t->slabs;

	settle_reads(t, now);
	while (*link) {
		if (now < (*link)->deadline_ns) {
			link = &(*link)->next;
		} else if ((*link)->is_revoked) {
			free_slab(t, link);
		} else {
			revoke(t, *link, now);
		}
	}
}

void ofi_bulk_fail(struct ofi *t, uint32_t rank)
{
	int64_t now = clock_mono_ns();
	struct ofi_read *next;

	for (struct ofi_slab *s = t->slabs; s; s = s->next)
		if (s->rank == rank && !s->is_revoked)
			revoke(t, s, now);
	for (struct ofi_read *r = t->reads; r; r = next) {
		next = r->next;
		if (r->op.rank != rank)
			continue;
		r->is_abandoned = true;
		if (!r->is_posted)
			free_read(t, r);
	}
}

int64_t ofi_bulk_deadline(const struct ofi *t)
{
	int64_t first = INT64_MAX;

	for (const struct ofi_slab *s = t->slabs; s; s = s->next)
		if (s->deadline_ns < first)
			first = s->deadline_ns;
	for (const struct ofi_read *r = t->reads; r; r = r->next)
		if (!r->is_abandoned && r->deadline_ns < first)
			first = r->deadline_ns;
	return first;
}

void ofi_bulk_revoke_all(struct ofi *t)
{
	for (struct ofi_slab *s = t->slabs; s; s = s->next)
		if (!s->is_revoked)
			revoke(t, s, 0);
	for (struct ofi_read *r = t->reads; r; r = r->next)
		ofi_memory_revoke(&r->memory);
}

void ofi_bulk_free_all(struct ofi *t)
{
	while (t->slabs)
		free_slab(t, &t->slabs);
	while (t->reads)
		free_read(t, t->reads);
}
