/* SPDX-License-Identifier: MIT */
/*
 * transport_cases: transports that run in turns in one thread, and the cases that hold for each of
 * them. The including test sets the transport.
 */
#ifndef UNIT_TRANSPORT_CASES_H
#define UNIT_TRANSPORT_CASES_H

#include "base/clock.h"
#include "cluster/transport/transport.h"
#include "tap.h"

static const struct transport *transport;

#define PATIENCE_NS (60 * NS_PER_S)
#define SIZE 3
#define BIG (3u << 20)

static const struct secret secret = { "the secret of this job" };

struct member {
	void *self;
	uint32_t rank;
	char endpoint[ENDPOINT_MAX];
	int received, heard, sent, failed;
	uint32_t from;
	uint64_t epoch;
	uint64_t ids[64]; /* of messages, as they came */
	size_t body_len;
	bool is_body_right;
};

static void receive(void *self, uint32_t rank, uint64_t epoch, const struct wire_message *m)
{
	struct member *at = self;
	const unsigned char *bytes = m->body.bytes;

	at->from = rank;
	at->epoch = epoch;
	if (at->received < 64)
		at->ids[at->received] = m->id;
	at->received++;
	if (!m->body.len)
		return;
	at->body_len = m->body.len;
	at->is_body_right = true;
	for (size_t i = 0; i < m->body.len; i++)
		if (bytes[i] != (unsigned char)(i * 7))
			at->is_body_right = false;
}

static void heard(void *self, uint32_t rank)
{
	struct member *at = self;

	(void)rank;
	at->heard++;
}

static void sent(void *self, uint32_t rank)
{
	struct member *at = self;

	(void)rank;
	at->sent++;
}

static void failed(void *self, uint32_t rank)
{
	struct member *at = self;

	(void)rank;
	at->failed++;
}

static const struct transport_events events = { receive, heard, sent, failed };

static bool open_member(struct member *m, uint32_t rank, const struct secret *key)
{
	struct transport_config config = { .rank = rank,
					   .size = SIZE,
					   .epoch = 100 + rank,
					   .secret = key,
					   .listen = "127.0.0.1",
					   .events = &events,
					   .self = m };
	struct err e = { 0 };

	*m = (struct member){ .rank = rank };
	if (!CHECK_INT(transport->open(&config, &m->self, m->endpoint, &e), 0))
		fprintf(stderr, "%s\n", e.msg);
	return m->self != NULL;
}

static void close_member(struct member *m)
{
	if (m->self)
		transport->close(m->self);
}

static void introduce(struct member *m, const struct member *to)
{
	struct err e = { 0 };

	CHECK_INT(transport->set_endpoint(m->self, to->rank, to->endpoint, &e), 0);
}

static void step(struct member *m)
{
	transport->run(m->self, clock_mono_ns() + 1000000);
}

/* Runs both until the count is reached. */
static bool run_until(struct member *a, struct member *b, const int *count, int want)
{
	int64_t end = clock_mono_ns() + PATIENCE_NS;

	while (*count < want && clock_mono_ns() < end) {
		step(a);
		if (b)
			step(b);
	}
	return CHECK_INT(*count, want);
}

static struct transport_counts counts_of(const struct member *m)
{
	struct transport_counts c;

	transport->counts(m->self, &c);
	return c;
}

static struct wire_message request(uint64_t id)
{
	return (struct wire_message){ .type = WIRE_REQUEST,
				      .id = id,
				      .key = { .op = WIRE_GETATTR, .path = { "a/b", 3 } } };
}

static void test_messages(void)
{
	struct member a, b;
	struct wire_message m = request(7);

	if (!open_member(&a, 0, &secret) || !open_member(&b, 1, &secret))
		return;
	introduce(&a, &b); /* b does not know a: it answers */
	transport->send(a.self, 1, &m);
	run_until(&a, &b, &b.received, 1);
	CHECK_INT(b.from, 0);
	CHECK_INT(b.epoch, 100);
	CHECK_INT(b.ids[0], 7);
	m.id = 8;
	transport->send(b.self, 0, &m);
	run_until(&a, &b, &a.received, 1);
	CHECK_INT(a.ids[0], 8);
	CHECK_INT(counts_of(&a).connected, 1);
	CHECK_INT(counts_of(&b).connected, 1);
	CHECK_INT(a.failed + b.failed + a.sent + b.sent, 0);
	close_member(&a);
	close_member(&b);
}

static struct wire_message big_reply(uint64_t id)
{
	static unsigned char bytes[BIG];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7);
	return (struct wire_message){ .type = WIRE_REPLY,
				      .id = id,
				      .body = { .bytes = bytes, .len = sizeof(bytes) } };
}

/* Both connect at once: nothing is lost. */
static void test_both_connect(void)
{
	struct wire_message m = request(1);
	struct member a, b;

	if (!open_member(&a, 0, &secret) || !open_member(&b, 1, &secret))
		return;
	introduce(&a, &b);
	introduce(&b, &a);
	for (int i = 0; i < 10; i++) {
		transport->send(a.self, 1, &m);
		transport->send(b.self, 0, &m);
	}
	run_until(&a, &b, &a.received, 10);
	run_until(&a, &b, &b.received, 10);
	CHECK_INT(a.failed + b.failed, 0);
	close_member(&a);
	close_member(&b);
}

static void test_wake(void)
{
	struct member a;

	if (!open_member(&a, 0, &secret))
		return;
	transport->wake(a.self);
	transport->run(a.self, INT64_MAX); /* else it would wait for ever */
	transport->run(a.self, 0);
	close_member(&a);
}

#endif
