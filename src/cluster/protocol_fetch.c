/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cluster/protocol_internal.h"

#define MAX_DIRECT 3

void protocol_send(struct protocol *p, int64_t now, struct peer *peer, const struct wire_message *m)
{
	peer->sent_ns = now;
	p->counts.sent++;
	if (m->body.len) {
		p->counts.sent_data += m->body.len;
		peer->sending++;
		p->sending++;
		protocol_touch(p, now); /* the peer wants signs of life until it has them */
	}
	p->ops->send(p->self, peer->rank, m);
}

static int64_t max_age(const struct fetch *f)
{
	int64_t least = INT64_MAX;

	for (const struct waiter *w = f->waiters; w; w = w->next)
		if (w->max_age_ns < least)
			least = w->max_age_ns;
	return f->is_repeated ? least / 2 : least;
}

/* We have had no sign of life for a while: the request wants one. */
static bool is_doubtful(const struct peer *peer, int64_t now)
{
	return !peer->heard_ns || now - peer->heard_ns > PROTOCOL_BEAT_NS;
}

static void send_request(struct protocol *p, int64_t now, struct fetch *f, struct peer *peer)
{
	struct wire_message m = {
		.type = WIRE_REQUEST,
		.id = f->message_id,
		.wants_alive = is_doubtful(peer, now),
		.from_storage = f->direct > 0,
		.key = f->key,
		.max_age_ns = max_age(f),
	};

	f->state = FETCH_SENT;
	f->sent_ns = now;
	if (!f->first_sent_ns)
		f->first_sent_ns = now;
	if (!peer->outstanding++)
		peer->waiting_ns = now;
	peer->outstanding_chunks += f->key.op == WIRE_CHUNK;
	peer->is_upstream = true;
	if (m.wants_alive && !peer->probe_ns)
		peer->probe_ns = now + PROTOCOL_PROBE_NS;
	protocol_send(p, now, peer, &m);
}

static bool has_window(const struct peer *peer, const struct fetch *f)
{
	return peer->outstanding < PROTOCOL_WINDOW &&
	       (f->key.op != WIRE_CHUNK || peer->outstanding_chunks < PROTOCOL_WINDOW_CHUNKS);
}

void fetch_send(struct protocol *p, int64_t now, struct fetch *f, struct peer *peer)
{
	f->rank = peer->rank;
	f->hop_ns = now + p->config.timeout_ns / 4;
	if (has_window(peer, f)) {
		send_request(p, now, f, peer);
		return;
	}
	f->state = FETCH_QUEUED;
	f->next_in_queue = NULL;
	if (peer->first)
		peer->last->next_in_queue = f;
	else
		peer->first = f;
	peer->last = f;
}

/* Takes f, which is in the queue, out of it. */
static void unqueue(struct peer *peer, struct fetch *f)
{
	struct fetch *before = NULL;

	for (struct fetch *at = peer->first; at != f; at = at->next_in_queue)
		before = at;
	if (before)
		before->next_in_queue = f->next_in_queue;
	else
		peer->first = f->next_in_queue;
	if (peer->last == f)
		peer->last = before;
}

/* The window has room. Chunks do not hold up what is small. */
static void send_queued(struct protocol *p, int64_t now, struct peer *peer)
{
	struct fetch *f = peer->is_suspect ? NULL : peer->first;

	while (f && peer->outstanding < PROTOCOL_WINDOW) {
		struct fetch *next = f->next_in_queue;

		if (has_window(peer, f)) {
			unqueue(peer, f);
			send_request(p, now, f, peer);
		}
		f = next;
	}
}

void fetch_release(struct protocol *p, int64_t now, struct fetch *f)
{
	enum fetch_state state = f->state;
	struct peer *peer;

	f->state = FETCH_EXHAUSTED;
	if (state != FETCH_QUEUED && state != FETCH_SENT)
		return;
	peer = peers_find(&p->peers, f->rank);
	if (state == FETCH_QUEUED) {
		unqueue(peer, f);
		return;
	}
	peer->outstanding_chunks -= f->key.op == WIRE_CHUNK;
	if (!--peer->outstanding) {
		peer->waiting_ns = 0;
		peer->probe_ns = 0;
	}
	send_queued(p, now, peer);
}

void fetch_end(struct protocol *p, int64_t now, struct fetch *f)
{
	fetch_release(p, now, f);
	fetches_remove(&p->fetches, f);
}

/* Lets a suspect show that it is back, without waiting for it. */
static void probe(struct protocol *p, int64_t now, struct peer *peer)
{
	static const struct wire_message m = { .type = WIRE_ALIVE, .wants_alive = true };

	if (now < peer->retry_ns)
		return;
	peer->retry_ns = now + peer->backoff_ns;
	peer->backoff_ns *= 2;
	if (peer->backoff_ns > PROTOCOL_MAX_RETRY_NS)
		peer->backoff_ns = PROTOCOL_MAX_RETRY_NS;
	protocol_send(p, now, peer, &m);
}

/* NULL: the rank gets no requests now. */
static struct peer *usable_peer(struct protocol *p, int64_t now, uint32_t rank)
{
	struct peer *peer = peers_at(&p->peers, rank);

	if (!peer || !peer->is_suspect)
		return peer;
	probe(p, now, peer);
	return NULL;
}

struct cluster_tree protocol_tree(const struct protocol *p, uint64_t path_hash, uint32_t chunk)
{
	return cluster_tree_make(p->config.size, p->config.fanout, p->config.trees,
				 cluster_tree_of(path_hash, chunk, p->config.trees));
}

void fetch_dispatch(struct protocol *p, int64_t now, struct fetch *f)
{
	struct cluster_tree tree = protocol_tree(p, f->path_hash, f->key.chunk);
	uint32_t route[CLUSTER_ROUTE_MAX];
	size_t count = cluster_tree_route(&tree, p->config.rank, route);

	for (; f->hop < count; f->hop++) {
		struct peer *peer = usable_peer(p, now, route[f->hop]);

		if (peer) {
			fetch_send(p, now, f, peer);
			return;
		}
	}
	fetch_exhausted(p, now, f);
}

void fetch_reroute(struct protocol *p, int64_t now, struct fetch *f)
{
	fetch_release(p, now, f);
	p->counts.rerouted++;
	if (f->direct) {
		fetch_exhausted(p, now, f);
		return;
	}
	f->hop++;
	fetch_dispatch(p, now, f);
}

void fetch_read_storage(struct protocol *p, int64_t now, struct fetch *f)
{
	f->reading = READING_NOW;
	f->reading_ns = now;
	p->counts.storage_reads++;
	p->ops->read_storage(p->self, f->id, &f->key);
}

/* Asks one of the next positions to read its storage. false: none is left. */
static bool send_directly(struct protocol *p, int64_t now, struct fetch *f)
{
	struct cluster_tree tree = protocol_tree(p, f->path_hash, f->key.chunk);
	uint32_t position = cluster_tree_position(&tree, p->config.rank);

	if (!f->direct)
		fetches_renew(&p->fetches, f); /* one of them may have got a request before */
	while (f->direct < MAX_DIRECT && f->direct + 1u < p->config.size) {
		uint32_t next = (uint32_t)((position + (uint64_t)++f->direct) % p->config.size);
		struct peer *peer = usable_peer(p, now, cluster_tree_rank(&tree, next));

		if (peer) {
			fetch_send(p, now, f, peer);
			return true;
		}
	}
	return false;
}

static uint32_t max_tries(const struct protocol *p)
{
	return p->config.size < WIRE_MAX_RANKS ? p->config.size : WIRE_MAX_RANKS;
}

void fetch_exhausted(struct protocol *p, int64_t now, struct fetch *f)
{
	struct waiter **link = &f->waiters;

	f->state = FETCH_EXHAUSTED;
	if (f->reading == READING_NOW)
		return;
	if (f->reading == READING_NOT &&
	    (f->failed.count < max_tries(p) || fetch_has_local_waiter(f))) {
		fetch_read_storage(p, now, f);
		return;
	}
	while (*link) {
		if ((*link)->rank != CLUSTER_NO_RANK)
			fetch_fail_waiter(p, now, f, link);
		else
			link = &(*link)->next;
	}
	if (!f->waiters || f->failed.count >= max_tries(p)) {
		while (f->waiters)
			fetch_fail_waiter(p, now, f, &f->waiters);
		fetch_end(p, now, f);
	} else if (!send_directly(p, now, f)) {
		/* Too few nodes can be reached to say that storage has failed. */
		f->rank = CLUSTER_NO_RANK;
		f->state = FETCH_RESTING;
		f->hop_ns = now + PROTOCOL_BEAT_NS;
	}
}

static void leave(struct protocol *p, struct waiter **link)
{
	struct peer *peer = peers_find(&p->peers, (*link)->rank);

	if (peer)
		peer->served--;
	else
		p->locals--;
	fetches_leave(&p->fetches, link);
}

void fetch_fail_waiter(struct protocol *p, int64_t now, struct fetch *f, struct waiter **link)
{
	struct waiter *w = *link;

	if (w->rank == CLUSTER_NO_RANK) {
		struct protocol_answer a = { .rc = -EIO, .read_ns = now };

		p->counts.errors++;
		p->ops->answer(p->self, w->id, &f->key, &a);
	} else {
		struct wire_message m = {
			.type = WIRE_REPLY,
			.id = w->id,
			.verdict = WIRE_FAILED,
			.error = f->error ? f->error : EIO,
			.failed = f->failed,
			.held_ns = now - w->since_ns,
		};

		protocol_send(p, now, peers_find(&p->peers, w->rank), &m);
	}
	leave(p, link);
}

static void answer_waiter(struct protocol *p, int64_t now, const struct fetch *f,
			  const struct waiter *w, const struct protocol_answer *a)
{
	struct wire_message m = {
		.type = WIRE_REPLY,
		.id = w->id,
		.error = -a->rc,
		.age_ns = now > a->read_ns ? now - a->read_ns : 0,
		.held_ns = now - w->since_ns,
		.has_attr = a->has_attr,
		.attr = a->attr,
		.body = a->body,
	};

	if (w->rank == CLUSTER_NO_RANK)
		p->ops->answer(p->self, w->id, &f->key, a);
	else
		protocol_send(p, now, peers_find(&p->peers, w->rank), &m);
}

/* A chunk is of one version of the file, however old. */
static bool is_new_enough(const struct fetch *f, const struct waiter *w, int64_t now,
			  const struct protocol_answer *a)
{
	return f->key.op == WIRE_CHUNK || a->read_ns >= w->since_ns ||
	       now - a->read_ns <= w->max_age_ns;
}

void fetch_repeat(struct protocol *p, int64_t now, struct fetch *f, bool is_straight)
{
	fetch_release(p, now, f);
	fetches_renew(&p->fetches, f);
	f->is_repeated = true;
	f->failed.count = 0;
	f->direct = 0;
	if (f->reading == READING_FAILED)
		f->reading = READING_NOT;
	f->hop = is_straight ? CLUSTER_ROUTE_MAX : 0;
	fetch_dispatch(p, now, f);
}

void fetch_answer(struct protocol *p, int64_t now, struct fetch *f, const struct protocol_answer *a)
{
	struct waiter **link = &f->waiters;

	if (a->rc == 0 || a->rc == -ENOENT)
		p->ops->keep(p->self, &f->key, a, fetch_has_local_waiter(f));
	while (*link) {
		if (is_new_enough(f, *link, now, a)) {
			answer_waiter(p, now, f, *link, a);
			leave(p, link);
		} else {
			link = &(*link)->next;
		}
	}
	if (!f->waiters) {
		fetch_end(p, now, f);
		return;
	}
	p->counts.stale_replies++;
	fetch_repeat(p, now, f, f->is_repeated);
}
