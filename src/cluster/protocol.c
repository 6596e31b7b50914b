/* SPDX-License-Identifier: MIT */
#include "cluster/protocol.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "cluster/protocol_internal.h"

struct protocol *protocol_new(const struct protocol_config *config, const struct protocol_ops *ops,
			      void *self)
{
	struct protocol *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	assert(config->rank < config->size && config->fanout && config->trees &&
	       config->trees <= config->size);
	p->config = *config;
	p->ops = ops;
	p->self = self;
	p->fetches.max = config->max_fetches;
	/* Replies to a process that was here before must not meet fetches of this one. */
	p->fetches.generation = (uint32_t)(config->epoch ^ config->epoch >> 32);
	p->deadline_ns = INT64_MAX;
	return p;
}

void protocol_free(struct protocol *p)
{
	if (!p)
		return;
	fetches_fini(&p->fetches);
	peers_fini(&p->peers);
	free(p);
}

void protocol_touch(struct protocol *p, int64_t now)
{
	if (p->deadline_ns > now + PROTOCOL_TICK_NS)
		p->deadline_ns = now + PROTOCOL_TICK_NS;
}

/* The fetch of the key, with one more waiter. NULL: no room. */
static struct fetch *join(struct protocol *p, int64_t now, const struct wire_key *key,
			  struct waiter waiter, bool *ret_is_new)
{
	uint64_t hash = cluster_path_hash(key->path.ptr, key->path.len);
	struct fetch *f = fetches_find(&p->fetches, key, hash);
	struct waiter *w;
	bool is_new_waiter;

	*ret_is_new = !f;
	if (!f)
		f = fetches_add(&p->fetches, key, hash);
	if (!f)
		return NULL;
	w = fetches_join(&p->fetches, f, waiter.rank, waiter.id, &is_new_waiter);
	if (!w) {
		if (*ret_is_new)
			fetches_remove(&p->fetches, f);
		return NULL;
	}
	w->since_ns = now;
	w->max_age_ns = waiter.max_age_ns;
	if (is_new_waiter && waiter.rank == CLUSTER_NO_RANK)
		p->locals++;
	else if (is_new_waiter)
		peers_find(&p->peers, waiter.rank)->served++;
	p->counts.joined += !*ret_is_new;
	protocol_touch(p, now);
	return f;
}

int protocol_request(struct protocol *p, int64_t now, const struct wire_key *key,
		     int64_t max_age_ns, uint64_t cookie)
{
	struct waiter waiter = { .rank = CLUSTER_NO_RANK, .id = cookie, .max_age_ns = max_age_ns };
	struct fetch *f;
	bool is_new;

	if (p->locals >= p->config.max_fetches)
		return -EAGAIN;
	f = join(p, now, key, waiter, &is_new);
	if (!f)
		return p->fetches.count == p->fetches.max ? -EAGAIN : -ENOMEM;
	p->counts.local++;
	if (is_new)
		fetch_dispatch(p, now, f);
	return 0;
}

static void reply(struct protocol *p, int64_t now, struct peer *peer,
		  const struct wire_message *request, enum wire_verdict verdict, int error,
		  const struct wire_ranks *failed)
{
	struct wire_message m = {
		.type = WIRE_REPLY,
		.id = request->id,
		.verdict = verdict,
		.error = error,
	};

	if (failed)
		m.failed = *failed;
	p->counts.busy += verdict == WIRE_BUSY;
	protocol_send(p, now, peer, &m);
}

/* Serves the request from the cache. false: it cannot. */
static bool reply_held(struct protocol *p, int64_t now, struct peer *peer,
		       const struct wire_message *request)
{
	struct protocol_answer a = { 0 };
	struct wire_message m = { .type = WIRE_REPLY, .id = request->id };

	if (!p->ops->find(p->self, &request->key, &a))
		return false;
	m.age_ns = now > a.read_ns ? now - a.read_ns : 0;
	if (request->key.op != WIRE_CHUNK && m.age_ns > request->max_age_ns)
		return false;
	if (a.body.len && p->sending >= p->config.max_sending) {
		reply(p, now, peer, request, WIRE_BUSY, EBUSY, NULL);
		return true;
	}
	p->counts.hits++;
	m.error = -a.rc;
	m.has_attr = a.has_attr;
	m.attr = a.attr;
	m.body = a.body;
	protocol_send(p, now, peer, &m);
	return true;
}

/* Requests come from larger positions only: else they could run in a circle. */
static bool is_from_below(const struct protocol *p, const struct peer *peer,
			  const struct wire_key *key)
{
	struct cluster_tree tree =
		protocol_tree(p, cluster_path_hash(key->path.ptr, key->path.len), key->chunk);

	return cluster_tree_position(&tree, peer->rank) >
	       cluster_tree_position(&tree, p->config.rank);
}

/* Storage failed here, and nobody above can help: the peer is to try elsewhere. */
static bool has_failed(const struct fetch *f)
{
	return (f->state == FETCH_EXHAUSTED || f->direct) &&
	       (f->reading == READING_LATE || f->reading == READING_FAILED);
}

static void receive_request(struct protocol *p, int64_t now, struct peer *peer,
			    const struct wire_message *m)
{
	static const struct wire_message alive = { .type = WIRE_ALIVE };
	const struct wire_key *key = &m->key;
	struct waiter waiter = { .rank = peer->rank, .id = m->id, .max_age_ns = m->max_age_ns };
	struct fetch *f;
	bool is_new;

	p->counts.served++;
	if (!m->from_storage && !is_from_below(p, peer, key)) {
		reply(p, now, peer, m, WIRE_FAILED, EPROTO, NULL);
		return;
	}
	if (reply_held(p, now, peer, m))
		return;
	f = fetches_find(&p->fetches, key, cluster_path_hash(key->path.ptr, key->path.len));
	if (f && has_failed(f)) {
		reply(p, now, peer, m, WIRE_FAILED, f->error, &f->failed);
		return;
	}
	if (peer->served < PROTOCOL_WINDOW)
		f = join(p, now, key, waiter, &is_new);
	else
		f = NULL;
	if (!f) {
		reply(p, now, peer, m, WIRE_BUSY, EBUSY, NULL);
		return;
	}
	if (m->wants_alive)
		protocol_send(p, now, peer, &alive);
	if (m->from_storage) {
		if (f->reading == READING_NOT)
			fetch_read_storage(p, now, f);
	} else if (is_new) {
		fetch_dispatch(p, now, f);
	}
}

/* When storage said so, at the earliest: the message may have been on its way all the time that the
 * peer did not hold the request. */
static int64_t time_read(int64_t now, int64_t sent, const struct wire_message *m)
{
	int64_t away = now - sent - m->held_ns, read;

	if (__builtin_sub_overflow(now - (away > 0 ? away : 0), m->age_ns, &read))
		return INT64_MIN;
	return read;
}

static void receive_reply(struct protocol *p, int64_t now, struct peer *peer,
			  const struct wire_message *m)
{
	struct fetch *f = fetches_by_id(&p->fetches, m->id);
	struct protocol_answer a;
	bool is_current;

	if (!f) {
		p->counts.late_replies++;
		return;
	}
	is_current = f->state == FETCH_SENT && f->rank == peer->rank;
	if (m->verdict == WIRE_ANSWERED && wire_is_answer(m->error)) {
		a = (struct protocol_answer){
			.rc = -m->error,
			.read_ns = time_read(now, is_current ? f->sent_ns : f->first_sent_ns, m),
			.has_attr = m->has_attr,
			.attr = m->attr,
			.body = m->body,
		};
		if (is_current)
			fetch_release(p, now, f);
		fetch_answer(p, now, f, &a);
		return;
	}
	if (!is_current)
		return;
	if (m->verdict == WIRE_BUSY) {
		fetch_release(p, now, f);
		f->state = FETCH_RESTING;
		f->hop_ns = now + PROTOCOL_REST_NS;
		if (p->deadline_ns > f->hop_ns)
			p->deadline_ns = f->hop_ns;
		return;
	}
	for (uint32_t i = 0; i < m->failed.count; i++)
		wire_ranks_add(&f->failed, m->failed.ranks[i]);
	f->error = m->error;
	if (f->failed.count == WIRE_MAX_RANKS)
		f->hop = CLUSTER_ROUTE_MAX;
	fetch_reroute(p, now, f);
}

/* Any sign of life. */
static void hear(struct protocol *p, int64_t now, struct peer *peer)
{
	peer->heard_ns = now;
	peer->probe_ns = 0;
	if (!peer->is_suspect)
		return;
	peer->is_suspect = false;
	p->counts.returned_peers++;
}

/* The peer's process is another one: it knows nothing of what was between us. */
static void check_epoch(struct protocol *p, int64_t now, struct peer *peer, uint64_t epoch)
{
	if (peer->has_epoch && peer->epoch != epoch) {
		peer_drop_waiters(p, now, peer);
		peer_lost(p, now, peer);
	}
	peer->has_epoch = true;
	peer->epoch = epoch;
}

void protocol_receive(struct protocol *p, int64_t now, uint32_t rank, uint64_t epoch,
		      const struct wire_message *m)
{
	static const struct wire_message alive = { .type = WIRE_ALIVE };
	struct peer *peer;

	if (rank >= p->config.size || rank == p->config.rank)
		return;
	peer = peers_at(&p->peers, rank);
	if (!peer)
		return; /* out of memory: as if it were lost */
	p->counts.received++;
	check_epoch(p, now, peer, epoch);
	hear(p, now, peer);
	switch (m->type) {
	case WIRE_REQUEST:
		receive_request(p, now, peer, m);
		break;
	case WIRE_REPLY:
		receive_reply(p, now, peer, m);
		break;
	case WIRE_ALIVE:
		if (m->wants_alive)
			protocol_send(p, now, peer, &alive);
		break;
	case WIRE_GOODBYE:
		protocol_peer_failed(p, now, rank);
		break;
	case WIRE_HELLO:
	case WIRE_CHALLENGE:
	case WIRE_PROOF:
	case WIRE_TAKEN:
		break; /* the transport's */
	}
}

void protocol_heard(struct protocol *p, int64_t now, uint32_t rank)
{
	struct peer *peer = peers_find(&p->peers, rank);

	if (peer)
		hear(p, now, peer);
}

void protocol_sent(struct protocol *p, int64_t now, uint32_t rank)
{
	struct peer *peer = peers_find(&p->peers, rank);

	(void)now;
	if (!peer || !peer->sending)
		return;
	peer->sending--;
	p->sending--;
}

void protocol_peer_failed(struct protocol *p, int64_t now, uint32_t rank)
{
	struct peer *peer = peers_find(&p->peers, rank);

	if (!peer)
		return;
	peer_drop_waiters(p, now, peer);
	peer_lost(p, now, peer);
}

void protocol_storage_done(struct protocol *p, int64_t now, uint64_t id,
			   const struct protocol_answer *a)
{
	struct fetch *f = fetches_by_id(&p->fetches, id);

	if (!f || (f->reading != READING_NOW && f->reading != READING_LATE))
		return;
	if (wire_is_answer(-a->rc)) {
		f->reading = READING_NOT;
		fetch_answer(p, now, f, a);
		return;
	}
	p->counts.storage_failures++;
	wire_ranks_add(&f->failed, p->config.rank);
	f->reading = READING_FAILED;
	f->error = -a->rc;
	if (f->state == FETCH_EXHAUSTED)
		fetch_exhausted(p, now, f);
}

int64_t protocol_deadline(const struct protocol *p)
{
	return p->deadline_ns;
}

void protocol_goodbye(struct protocol *p, int64_t now)
{
	static const struct wire_message m = { .type = WIRE_GOODBYE };

	for (size_t i = 0; i < p->peers.count; i++)
		if (!p->peers.all[i]->is_suspect)
			protocol_send(p, now, p->peers.all[i], &m);
}

const struct protocol_counts *protocol_counts(const struct protocol *p)
{
	return &p->counts;
}

size_t protocol_in_flight(const struct protocol *p)
{
	return p->fetches.count;
}

size_t protocol_bytes(const struct protocol *p)
{
	return sizeof(*p) + fetches_bytes(&p->fetches) + peers_bytes(&p->peers);
}
