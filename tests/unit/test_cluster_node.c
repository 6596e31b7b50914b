/* SPDX-License-Identifier: MIT */
/* Two nodes in one process. */
#include "cluster/node.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/mac.h"
#include "cluster/secret.h"
#include "tap.h"

static char folder[128]; /* main() makes it, and moves there */
static const unsigned char bytes[WIRE_CHUNK_BYTES] = "data";

/* A node, and what its ops were called for. */
struct member {
	struct cluster_node *node;
	struct cluster_node_config config;
	int rc;
	struct err e;
	bool has_data;  /* find has everything */
	bool hangs;     /* reads of storage are kept in pending */
	sem_t *blocked; /* keep waits for it; NULL: it does not */
	struct cluster_read *pending;
	sem_t called; /* posted by each read of storage, and each answer */
	int reads, kept, answers, answer_rc, released;
};

static bool find(void *self, const struct wire_key *key, struct protocol_answer *ret)
{
	const struct member *m = self;

	*ret = (struct protocol_answer){ .read_ns = clock_mono_ns(),
					 .attr.identity = key->identity,
					 .body = { .bytes = bytes, .len = sizeof(bytes) } };
	return m->has_data;
}

static void keep(void *self, const struct wire_key *key, const struct protocol_answer *a,
		 bool is_local)
{
	struct member *m = self;

	(void)key;
	(void)a;
	(void)is_local;
	m->kept++;
	if (m->blocked)
		sem_wait(m->blocked);
}

static void release(void *data)
{
	struct member *m = data;

	m->released++;
}

static void read_storage(void *self, struct cluster_read *r)
{
	struct member *m = self;

	m->reads++;
	r->data = m;
	r->release = release;
	r->answer = (struct protocol_answer){ .read_ns = clock_mono_ns(),
					      .attr.identity = r->key.identity,
					      .body = { .bytes = bytes, .len = 4 } };
	if (m->hangs)
		m->pending = r;
	else
		cluster_node_read_done(r);
	if (m->hangs)
		sem_post(&m->called);
}

static const struct cluster_node_ops ops = { .find = find, .keep = keep, .read = read_storage };

static void answered(void *self, const struct wire_key *key, const struct protocol_answer *a)
{
	struct member *m = self;

	(void)key;
	m->answers++;
	m->answer_rc = a->rc;
	sem_post(&m->called);
}

static int request(struct member *m, uint32_t chunk)
{
	struct wire_key key = { .op = WIRE_CHUNK,
				.chunk = chunk,
				.path = { "a/file", 6 },
				.identity = { 1, 2, 3, 4 } };

	return cluster_node_request(m->node, &key, 0, answered, m);
}

static void *start(void *arg)
{
	struct member *m = arg;

	m->rc = cluster_node_start(&m->config, &ops, m, &m->node, &m->e);
	return NULL;
}

static void init_member(struct member *m, uint32_t rank, uint32_t size)
{
	*m = (struct member){ .config = { .rank = rank,
					  .size = size,
					  .listen = "127.0.0.1",
					  .address_book = size > 1 ? "book" : NULL,
					  .secret_file = size > 1 ? "secret" : NULL,
					  .trees = 1,
					  .join_ns = 60 * NS_PER_S,
					  .timeout_ns = 60 * NS_PER_S } };
	sem_init(&m->called, 0, 0);
}

/* After init_member(), so that the ops find what they need. */
static bool start_two(struct member *a, struct member *b)
{
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, start, a), 0);
	start(b);
	pthread_join(thread, NULL);
	if (CHECK_INT(a->rc, 0) && CHECK_INT(b->rc, 0))
		return true;
	fprintf(stderr, "%s %s\n", a->e.msg, b->e.msg);
	return false;
}

static void stop(struct member *m)
{
	cluster_node_stop(m->node);
	sem_destroy(&m->called);
}

/* By way of rank 0, which reads storage. */
static void test_request(void)
{
	struct cluster_statistics s;
	struct member a, b;

	init_member(&a, 0, 2);
	init_member(&b, 1, 2);
	if (!start_two(&a, &b))
		return;
	CHECK_INT(request(&b, 7), 0);
	sem_wait(&b.called);
	stop(&b);
	cluster_node_statistics(a.node, &s);
	CHECK_STR(s.transport, "tcp");
	CHECK_INT(s.size, 2);
	stop(&a);
	CHECK_INT(b.answers, 1);
	CHECK_INT(b.answer_rc, 0);
	CHECK_INT(a.reads, 1);
	CHECK_INT(b.reads, 0);
	CHECK_INT(a.released, 1);
	CHECK(a.kept == 1 && b.kept == 1);
	CHECK_INT(rmdir("book"), 0); /* no file of theirs is left */
}

static void test_alone(void)
{
	struct cluster_statistics s;
	struct member a;

	init_member(&a, 0, 1);
	start(&a);
	if (!CHECK_INT(a.rc, 0))
		return;
	CHECK_INT(request(&a, 1), 0);
	sem_wait(&a.called);
	stop(&a);
	CHECK_INT(a.answer_rc, 0);
	CHECK_INT(a.reads, 1);
	init_member(&a, 0, 1);
	a.has_data = true; /* it came while the request was on its way */
	a.config.max_requests = 1;
	start(&a);
	CHECK_INT(request(&a, 1), 0);
	sem_wait(&a.called);
	CHECK_INT(a.reads, 0);
	cluster_node_statistics(a.node, &s);
	CHECK_STR(s.endpoint, ""); /* nobody is to connect */
	stop(&a);
}

/* Storage hangs while the node ends, and replies later. */
static void test_stop(void)
{
	struct member a;

	init_member(&a, 0, 1);
	a.hangs = true;
	a.config.max_requests = 2;
	start(&a);
	if (!CHECK_INT(a.rc, 0))
		return;
	CHECK_INT(request(&a, 1), 0);
	CHECK_INT(request(&a, 1), 0); /* joins the first one */
	CHECK_INT(request(&a, 2), -EAGAIN);
	sem_wait(&a.called);
	cluster_node_stop(a.node);
	CHECK_INT(a.answers, 2);
	CHECK_INT(a.answer_rc, -ESHUTDOWN);
	CHECK_INT(a.released, 0);
	cluster_node_read_done(a.pending);
	CHECK_INT(a.released, 1);
	sem_destroy(&a.called);
}

/* Replies with data are queued for a node that does not read them, when this one ends. */
static void test_stop_while_sending(void)
{
	struct member a, b;
	sem_t blocked;

	sem_init(&blocked, 0, 0);
	init_member(&a, 0, 2);
	init_member(&b, 1, 2);
	a.has_data = true;
	b.blocked = &blocked;
	if (!start_two(&a, &b))
		return;
	for (uint32_t i = 0; i < 64; i++)
		CHECK_INT(request(&b, i), 0);
	for (struct cluster_statistics s = { 0 }; s.protocol.hits < 8; usleep(1000))
		cluster_node_statistics(a.node, &s);
	stop(&a);
	for (int i = 0; i < 64; i++)
		sem_post(&blocked);
	for (int i = 0; i < 64; i++)
		sem_wait(&b.called);
	CHECK_INT(b.answers, 64);
	CHECK_INT(b.answer_rc, 0); /* by a, or by its own storage */
	stop(&b);
	sem_destroy(&blocked);
	rmdir("book");
}

int main(void)
{
	struct err e;

	if (mac_open(&e) < 0) {
		printf("1..0 # SKIP %s\n", e.msg);
		return 0;
	}
	if (!mkdtemp(tap_pattern(folder, sizeof(folder))) || chdir(folder) < 0 ||
	    secret_create("secret", &e) < 0)
		return 1;
	TAP_CASE(test_request);
	TAP_CASE(test_alone);
	TAP_CASE(test_stop);
	TAP_CASE(test_stop_while_sending);
	unlink("secret");
	if (chdir("/") < 0 || rmdir(folder) < 0)
		perror(folder);
	return tap_done();
}
