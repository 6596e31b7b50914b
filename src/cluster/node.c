/* SPDX-License-Identifier: MIT */
#include "cluster/node.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/mac.h"
#include "cluster/node_internal.h"
#include "cluster/secret.h"
#include "cluster/tree.h"

#define DEFAULT_REQUESTS 16384
#define MAX_FETCHES 4096
#define MAX_SENDING 64          /* replies with data in the transport: at most 64 MiB of chunks */
#define FLUSH_NS (NS_PER_S / 2) /* for the last messages of a node */
#define ROUTE_TREES 64          /* whose routes are known from the start */
#define NEXT_POSITIONS 3        /* nodes below that may be asked to read storage */

static_assert(sizeof(((struct cluster_statistics *)0)->endpoint) == ENDPOINT_MAX, "same text");

/* --- between protocol and transport --- */

static bool find(void *self, const struct wire_key *key, struct protocol_answer *ret)
{
	struct cluster_node *n = self;

	return n->ops->find(n->self, key, ret);
}

static void keep(void *self, const struct wire_key *key, const struct protocol_answer *a,
		 bool is_local)
{
	struct cluster_node *n = self;

	n->ops->keep(n->self, key, a, is_local);
}

static void send_message(void *self, uint32_t rank, const struct wire_message *m)
{
	struct cluster_node *n = self;

	n->transport->send(n->transport_self, rank, m);
}

static const struct protocol_ops protocol_ops = {
	.find = find,
	.keep = keep,
	.send = send_message,
	.read_storage = node_read_storage,
	.answer = node_answer,
};

static void receive(void *self, uint32_t rank, uint64_t epoch, const struct wire_message *m)
{
	struct cluster_node *n = self;
	struct cluster_statistics *s = &n->statistics;
	const struct protocol_counts *counts = protocol_counts(n->protocol);
	uint64_t hits = counts->hits;
	int64_t now = clock_mono_ns();

	if (m->type == WIRE_REPLY && m->verdict == WIRE_ANSWERED) {
		s->peer_requests++;
		s->peer_bytes += m->body.len;
		if (!s->first_answer_ns)
			s->first_answer_ns = (uint64_t)(now - n->started_ns);
	}
	protocol_receive(n->protocol, now, rank, epoch, m);
	if (m->type == WIRE_REQUEST) {
		struct cluster_level *level = node_level(n, &m->key);

		level->served++;
		level->hits += counts->hits - hits;
	}
}

static void heard(void *self, uint32_t rank)
{
	struct cluster_node *n = self;

	protocol_heard(n->protocol, clock_mono_ns(), rank);
}

static void sent(void *self, uint32_t rank)
{
	struct cluster_node *n = self;

	protocol_sent(n->protocol, clock_mono_ns(), rank);
}

static void failed(void *self, uint32_t rank)
{
	struct cluster_node *n = self;

	protocol_peer_failed(n->protocol, clock_mono_ns(), rank);
	node_look_up(n, rank);
}

static const struct transport_events transport_events = {
	.receive = receive,
	.heard = heard,
	.sent = sent,
	.failed = failed,
};

/* --- the thread --- */

static void publish(struct cluster_node *n)
{
	struct cluster_statistics *s = &n->statistics;
	struct transport_counts counts;

	n->transport->counts(n->transport_self, &counts);
	s->connected = counts.connected;
	s->sent_bytes = counts.sent_bytes;
	s->received_bytes = counts.received_bytes;
	s->connection_losses = counts.losses;
	s->refused = counts.refused;
	s->replayed = counts.replayed;
	s->protocol = *protocol_counts(n->protocol);
	pthread_mutex_lock(&n->lock);
	n->published = *s;
	pthread_mutex_unlock(&n->lock);
}

void cluster_node_statistics(struct cluster_node *n, struct cluster_statistics *ret)
{
	pthread_mutex_lock(&n->lock);
	*ret = n->published;
	pthread_mutex_unlock(&n->lock);
}

static void *run(void *arg)
{
	struct cluster_node *n = arg;

	while (!atomic_load(&n->is_stopping)) {
		int64_t now = clock_mono_ns();

		node_take_letters(n);
		if (now >= protocol_deadline(n->protocol))
			protocol_tick(n->protocol, now);
		publish(n);
		n->transport->run(n->transport_self,
				  n->refused_count ? now : protocol_deadline(n->protocol));
	}
	protocol_goodbye(n->protocol, clock_mono_ns());
	n->transport->flush(n->transport_self, clock_mono_ns() + FLUSH_NS);
	node_end_requests(n);
	publish(n);
	return NULL;
}

static void wake(void *self)
{
	const struct cluster_node *n = self;

	n->transport->wake(n->transport_self);
}

/* --- start and stop --- */

static void node_free(struct cluster_node *n)
{
	if (!n)
		return;
	if (n->transport_self)
		n->transport->close(n->transport_self); /* with events for the protocol */
	protocol_free(n->protocol);
	bootstrap_close(n->bootstrap);
	mailbox_unref(n->mailbox);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* The ranks that this node may have to connect to: those of its routes, and the next ones that it
 * asks to read storage. Others connect to it. NULL: out of memory. */
static bool *wanted_ranks(const struct cluster_node_config *c)
{
	bool *wants = calloc(c->size, sizeof(*wants));

	for (uint32_t i = 0; wants && i < c->trees; i++) {
		struct cluster_tree tree = cluster_tree_make(c->size, c->fanout, c->trees, i);
		uint32_t position = cluster_tree_position(&tree, c->rank);
		uint32_t route[CLUSTER_ROUTE_MAX];
		size_t count = cluster_tree_route(&tree, c->rank, route);

		for (size_t j = 0; j < count; j++)
			wants[route[j]] = true;
		for (uint32_t j = 1; j <= NEXT_POSITIONS; j++)
			wants[cluster_tree_rank(&tree, (position + j) % c->size)] = true;
	}
	if (wants)
		wants[c->rank] = false;
	return wants;
}

static int set_endpoint(void *self, uint32_t rank, const char *text, struct err *e)
{
	struct cluster_node *n = self;

	return n->transport->set_endpoint(n->transport_self, rank, text, e);
}

static int exchange(struct cluster_node *n, const char *endpoint, struct err *e)
{
	bool *wants = wanted_ranks(&n->config);
	int rc;

	if (!wants)
		return err_nomem(e);
	rc = bootstrap_exchange(n->bootstrap, endpoint, wants, set_endpoint, n, e);
	free(wants);
	return rc;
}

static int open_bootstrap(struct cluster_node *n, const struct secret *secret, struct err *e)
{
	struct cluster_node_config *c = &n->config;
	struct bootstrap_config config = { .rank = c->rank,
					   .size = c->size,
					   .address_book = c->address_book,
					   .generation = c->generation,
					   .secret = secret,
					   .join_ns = c->join_ns };

	if (bootstrap_open(&config, &n->bootstrap, e) < 0)
		return e->code;
	c->rank = bootstrap_rank(n->bootstrap);
	c->size = bootstrap_size(n->bootstrap);
	if (!c->fanout)
		c->fanout = PROTOCOL_FANOUT;
	if (!c->trees)
		c->trees = PROTOCOL_TREES;
	if (c->trees > c->size)
		c->trees = c->size;
	if (!c->max_requests)
		c->max_requests = DEFAULT_REQUESTS;
	return 0;
}

static int open_protocol(struct cluster_node *n, uint64_t epoch, struct err *e)
{
	struct protocol_config config = { .rank = n->config.rank,
					  .size = n->config.size,
					  .fanout = n->config.fanout,
					  .trees = n->config.trees,
					  .epoch = epoch,
					  .timeout_ns = n->config.timeout_ns,
					  .max_fetches = MAX_FETCHES,
					  .max_sending = MAX_SENDING };

	n->protocol = protocol_new(&config, &protocol_ops, n);
	n->mailbox = mailbox_new(wake, n);
	return n->protocol && n->mailbox ? 0 : err_nomem(e);
}

static int open_transport(struct cluster_node *n, uint64_t epoch, const struct secret *secret,
			  struct err *e)
{
	struct transport_config config = { .rank = n->config.rank,
					   .size = n->config.size,
					   .epoch = epoch,
					   .secret = secret,
					   .listen = n->config.listen,
					   .events = &transport_events,
					   .self = n };
	struct cluster_statistics *s = &n->statistics;

	if (transport_open(n->config.transport, &config, &n->transport, &n->transport_self,
			   s->endpoint, e) < 0)
		return e->code;
	s->rank = n->config.rank;
	s->size = n->config.size;
	snprintf(s->transport, sizeof(s->transport), "%s", n->transport->name);
	if (exchange(n, s->endpoint, e) < 0)
		return e->code;
	s->join_ns = (uint64_t)(clock_mono_ns() - n->started_ns);
	log_msg(LOG_INFO, "cluster", "rank %u of %u is ready at %s, by %s and %s, after %.3f s",
		s->rank, s->size, *s->endpoint ? s->endpoint : "no address", s->transport,
		bootstrap_name(n->bootstrap), (double)s->join_ns / 1e9);
	return 0;
}

static int open_node(struct cluster_node *n, struct secret *secret, struct err *e)
{
	sigset_t all, before;
	uint64_t epoch;
	int rc = secret_random(&epoch, sizeof(epoch));

	if (rc < 0)
		return err_set(e, rc, "no random bytes: %s", strerror(-rc));
	if (n->config.secret_file && secret_load(n->config.secret_file, secret, e) < 0)
		return e->code;
	if (mac_open(e) < 0 || open_bootstrap(n, n->config.secret_file ? secret : NULL, e) < 0 ||
	    (!n->config.secret_file && bootstrap_share(n->bootstrap, secret, e) < 0) ||
	    open_protocol(n, epoch, e) < 0 || open_transport(n, epoch, secret, e) < 0)
		return e->code;
	publish(n);
	sigfillset(&all); /* the main thread handles them */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&n->thread, NULL, run, n);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc ? err_set(e, -rc, "no thread for the overlay: %s", strerror(rc)) : 0;
}

int cluster_node_start(const struct cluster_node_config *config, const struct cluster_node_ops *ops,
		       void *self, struct cluster_node **ret, struct err *e)
{
	struct cluster_node *n = calloc(1, sizeof(*n));
	struct secret secret;
	int rc;

	if (!n)
		return err_nomem(e);
	n->config = *config;
	n->ops = ops;
	n->self = self;
	n->started_ns = clock_mono_ns();
	pthread_mutex_init(&n->lock, NULL);
	rc = open_node(n, &secret, e);
	secret_fini(&secret);
	if (rc < 0) {
		node_free(n);
		return rc;
	}
	*ret = n;
	return 0;
}

void cluster_node_stop(struct cluster_node *n)
{
	if (!n)
		return;
	atomic_store(&n->is_stopping, true);
	wake(n);
	pthread_join(n->thread, NULL);
	node_free(n);
}
