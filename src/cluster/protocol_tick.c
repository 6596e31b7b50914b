/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cluster/protocol_internal.h"

/* A tick that comes later than this means that this process was stopped, not its peers. */
#define STOPPED_NS INT64_C(500000000)

void peer_lost(struct protocol *p, int64_t now, struct peer *peer)
{
	if (!peer->is_suspect) {
		p->counts.lost_peers++;
		peer->is_suspect = true;
		peer->backoff_ns = PROTOCOL_RETRY_NS;
		peer->retry_ns = now + PROTOCOL_RETRY_NS;
	}
	peer->probe_ns = 0;
	for (size_t i = 0; i < p->fetches.slots; i++) {
		struct fetch *f = p->fetches.all[i];

		if (f->rank == peer->rank && (f->state == FETCH_SENT || f->state == FETCH_QUEUED ||
					      f->state == FETCH_RESTING))
			fetch_reroute(p, now, f);
	}
}

void peer_drop_waiters(struct protocol *p, int64_t now, struct peer *peer)
{
	for (size_t i = 0; i < p->fetches.slots && peer->served; i++) {
		struct fetch *f = p->fetches.all[i];
		struct waiter **link = &f->waiters;

		if (f->state == FETCH_FREE)
			continue;
		while (*link) {
			if ((*link)->rank == peer->rank) {
				fetches_leave(&p->fetches, link);
				peer->served--;
			} else {
				link = &(*link)->next;
			}
		}
		if (!f->waiters)
			fetch_end(p, now, f);
	}
}

static int64_t later(int64_t time, int64_t gap, int64_t now)
{
	return time + gap < now ? time + gap : now;
}

/* This process did not run for gap: what its peers did in that time is not known yet. */
static void forgive(struct protocol *p, int64_t now, int64_t gap)
{
	for (size_t i = 0; i < p->peers.count; i++) {
		struct peer *peer = p->peers.all[i];

		if (peer->waiting_ns)
			peer->waiting_ns = now;
		if (peer->probe_ns)
			peer->probe_ns = now + PROTOCOL_PROBE_NS;
	}
	for (size_t i = 0; i < p->fetches.slots; i++) {
		struct fetch *f = p->fetches.all[i];

		f->hop_ns += gap;
		f->reading_ns = later(f->reading_ns, gap, now);
		for (struct waiter *w = f->waiters; w; w = w->next)
			w->since_ns = later(w->since_ns, gap, now);
	}
}

static void tick_peer(struct protocol *p, int64_t now, struct peer *peer)
{
	static const struct wire_message alive = { .type = WIRE_ALIVE };
	static const struct wire_message question = { .type = WIRE_ALIVE, .wants_alive = true };
	int64_t last = peer->heard_ns > peer->waiting_ns ? peer->heard_ns : peer->waiting_ns;

	if ((peer->outstanding && now - last >= PROTOCOL_SILENT_NS) ||
	    (peer->probe_ns && now >= peer->probe_ns)) {
		peer_lost(p, now, peer);
		return;
	}
	if ((peer->served || peer->sending) && now - peer->sent_ns >= PROTOCOL_BEAT_NS)
		protocol_send(p, now, peer, &alive);
	if (peer->is_upstream && !peer->is_suspect && !peer->probe_ns &&
	    now - last >= PROTOCOL_IDLE_NS && now - peer->sent_ns >= PROTOCOL_IDLE_NS) {
		peer->probe_ns = now + PROTOCOL_SILENT_NS;
		protocol_send(p, now, peer, &question);
	}
}

/* Half of the time is over for a local waiter: storage is read beside the overlay. At the end of
 * the time a waiter is answered. false: the fetch has ended. */
static bool tick_waiters(struct protocol *p, int64_t now, struct fetch *f)
{
	struct waiter **link = &f->waiters;

	while (*link) {
		int64_t waited = now - (*link)->since_ns;

		if (waited >= p->config.timeout_ns) {
			if (!f->error)
				f->error = ETIMEDOUT;
			fetch_fail_waiter(p, now, f, link);
			continue;
		}
		if (waited >= p->config.timeout_ns / 2 && (*link)->rank == CLUSTER_NO_RANK &&
		    f->reading == READING_NOT)
			fetch_read_storage(p, now, f);
		link = &(*link)->next;
	}
	if (f->waiters)
		return true;
	fetch_end(p, now, f);
	return false;
}

static void tick_fetch(struct protocol *p, int64_t now, struct fetch *f)
{
	struct peer *peer;

	if (f->state == FETCH_FREE || !tick_waiters(p, now, f))
		return;
	if (f->reading == READING_NOW && now - f->reading_ns >= p->config.timeout_ns / 4) {
		f->reading = READING_LATE;
		f->error = ETIMEDOUT;
		wire_ranks_add(&f->failed, p->config.rank);
		p->counts.storage_failures++;
		if (f->state == FETCH_EXHAUSTED) {
			fetch_exhausted(p, now, f);
			return;
		}
	}
	if (f->state == FETCH_EXHAUSTED || now < f->hop_ns)
		return;
	peer = peers_find(&p->peers, f->rank);
	if (!peer)
		fetch_repeat(p, now, f, false);
	else if (f->state == FETCH_RESTING && !peer->is_suspect)
		fetch_send(p, now, f, peer);
	else
		fetch_reroute(p, now, f);
}

static int64_t next_tick(const struct protocol *p, int64_t now)
{
	int64_t next = p->fetches.count ? now + PROTOCOL_TICK_NS : INT64_MAX;

	for (size_t i = 0; i < p->peers.count; i++) {
		const struct peer *peer = p->peers.all[i];
		int64_t last = peer->heard_ns > peer->sent_ns ? peer->heard_ns : peer->sent_ns;

		if (peer->sending || peer->probe_ns)
			last = now + PROTOCOL_TICK_NS;
		else if (peer->is_upstream && !peer->is_suspect)
			last += PROTOCOL_IDLE_NS;
		else
			continue;
		if (last < next)
			next = last;
	}
	for (size_t i = 0; i < p->fetches.slots; i++)
		if (p->fetches.all[i]->state == FETCH_RESTING && p->fetches.all[i]->hop_ns < next)
			next = p->fetches.all[i]->hop_ns;
	return next > now ? next : now + PROTOCOL_TICK_NS;
}

void protocol_tick(struct protocol *p, int64_t now)
{
	if (p->deadline_ns < INT64_MAX && now - p->deadline_ns > STOPPED_NS)
		forgive(p, now, now - p->deadline_ns);
	for (size_t i = 0; i < p->peers.count; i++)
		tick_peer(p, now, p->peers.all[i]);
	for (size_t i = 0; i < p->fetches.slots; i++)
		tick_fetch(p, now, p->fetches.all[i]);
	p->deadline_ns = next_tick(p, now);
}
