/* SPDX-License-Identifier: MIT */
/* Transports that run in turns in one thread, and a peer that is made of raw bytes. */
#include "cluster/transport/transport.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cluster/mac.h"
#include "cluster/session.h"
#include "tap.h"
#include "transport_cases.h"

/* A connection that ends is noticed. */
static void test_end(void)
{
	struct member a, b;
	struct wire_message m = request(7);

	if (!open_member(&a, 0, &secret) || !open_member(&b, 1, &secret))
		return;
	introduce(&a, &b);
	transport->send(a.self, 1, &m);
	run_until(&a, &b, &b.received, 1);
	close_member(&a);
	run_until(&b, NULL, &b.failed, 1);
	CHECK_INT(counts_of(&b).connected, 0);
	CHECK_INT(counts_of(&b).losses, 1);
	close_member(&b);
}

/* Many parts of a message; messages without data overtake those with. */
static void test_order(void)
{
	struct wire_message first = big_reply(1), second = big_reply(2), small = request(3);
	struct member a, b;

	if (!open_member(&a, 0, &secret) || !open_member(&b, 1, &secret))
		return;
	introduce(&a, &b);
	transport->send(a.self, 1, &first);
	transport->send(a.self, 1, &second);
	for (int i = 0; i < 20; i++) /* before the connection is there */
		transport->send(a.self, 1, &small);
	run_until(&a, &b, &b.received, 22);
	CHECK_INT(b.ids[0], 3);
	CHECK_INT(b.ids[19], 3);
	CHECK_INT(b.ids[20], 1);
	CHECK_INT(b.ids[21], 2);
	CHECK_INT(b.body_len, BIG);
	CHECK(b.is_body_right && b.heard > 0);
	run_until(&a, &b, &a.sent, 2);
	CHECK_INT(counts_of(&b).replayed, 0);
	close_member(&a);
	close_member(&b);
}

static void test_failures(void)
{
	struct wire_message small = request(1), big = big_reply(2);
	struct secret other = { "another job's" };
	struct member a, b;

	if (!open_member(&a, 0, &secret))
		return;
	transport->send(a.self, 1, &small); /* nobody knows where it is */
	transport->send(a.self, 2, &big);
	CHECK_INT(a.failed + a.sent, 0); /* never during send */
	run_until(&a, NULL, &a.failed, 2);
	CHECK_INT(a.sent, 1);
	if (!open_member(&b, 1, &other))
		return;
	introduce(&a, &b);
	transport->send(a.self, 1, &small);
	transport->send(a.self, 1, &big);
	run_until(&a, &b, &a.failed, 3);
	CHECK_INT(a.sent, 2);
	CHECK_INT(b.received, 0);
	CHECK_INT(counts_of(&b).refused, 1);
	close_member(&b); /* nobody listens there any more */
	transport->send(a.self, 1, &big);
	run_until(&a, NULL, &a.failed, 4);
	CHECK_INT(a.sent, 3);
	transport->send(a.self, 1, &big); /* lost with the transport, with its event */
	close_member(&a);
	CHECK_INT(a.failed, 4);
}

static void test_bad_endpoints(void)
{
	struct err e = { 0 };
	struct member a;

	if (!open_member(&a, 0, &secret))
		return;
	CHECK_INT(transport->set_endpoint(a.self, 1, "tcp:nowhere", &e), -EINVAL);
	CHECK(strstr(e.msg, "rank 1: ") != NULL);
	CHECK(!transport_find("smoke", &e));
	CHECK(transport_find("auto", &e) && transport_find("tcp", &e) == &transport_tcp);
	close_member(&a);
}

/* --- a peer of raw bytes --- */

struct raw {
	int fd;
	struct session session;
	struct hmac_key secret;
	struct gmac *key;
	struct buf in;
};

static void raw_put(struct raw *r, const void *bytes, size_t len, struct member *m)
{
	const char *at = bytes;

	while (len) { /* in pieces: each is half a message */
		size_t part = len > 1000 ? len / 2 : len > 7 ? 7 : len;
		ssize_t n = send(r->fd, at, part, MSG_NOSIGNAL);

		if (n <= 0)
			return; /* it was refused */
		at += n;
		len -= (size_t)n;
		step(m);
	}
}

static void raw_send(struct raw *r, struct member *m, const struct wire_message *message,
		     const struct envelope_mac *mac, struct envelope envelope)
{
	CLEANUP(buf_fini) struct buf b = { 0 };

	envelope_put(&b, &envelope, message, mac);
	raw_put(r, b.data, b.len, m);
}

/* The next message to it, by the key of the handshake. */
static bool raw_receive(struct raw *r, struct member *m, struct envelope *ret,
			struct wire_message *ret_message)
{
	struct envelope_mac mac = hmac_mac(&r->secret);
	int64_t end = clock_mono_ns() + PATIENCE_NS;
	struct err e;

	buf_clear(&r->in);
	while (clock_mono_ns() < end) {
		struct pollfd wait = { .fd = r->fd, .events = POLLIN };
		char bytes[512];
		ssize_t n;

		step(m);
		if (poll(&wait, 1, 1) <= 0)
			continue;
		n = recv(r->fd, bytes, sizeof(bytes), 0);
		if (n <= 0)
			return false;
		buf_put(&r->in, bytes, (size_t)n);
		if (envelope_peek(r->in.data, r->in.len, ret, &e) == 1 && r->in.len >= ret->len)
			return CHECK_INT(
				envelope_open(r->in.data, ret->len, &mac, ret, ret_message, &e), 0);
	}
	return false;
}

static bool raw_connect(struct raw *r, const struct member *m)
{
	struct endpoint at;
	struct err e = { 0 };

	*r = (struct raw){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	memcpy(r->secret.bytes, secret.bytes, sizeof(r->secret.bytes));
	CHECK_INT(endpoint_parse(m->endpoint, &at, &e), 0);
	return CHECK_INT(connect(r->fd, (struct sockaddr *)&at.address, at.len), 0);
}

static const struct envelope from_raw = { .sender = 1, .receiver = 0, .epoch = 55 };

/* With the job's secret. */
static bool raw_greet(struct raw *r, struct member *m, struct wire_message *ret_proof)
{
	struct envelope_mac mac = hmac_mac(&r->secret);
	unsigned char nonce[WIRE_NONCE] = { 42 };
	struct wire_message message;
	struct envelope envelope;

	session_hello(&r->session, nonce, &message);
	raw_send(r, m, &message, &mac, from_raw);
	if (!CHECK(raw_receive(r, m, &envelope, &message)))
		return false;
	CHECK_INT(session_receive(&r->session, &mac, &envelope, &message, nonce, ret_proof), 1);
	raw_send(r, m, ret_proof, &mac, from_raw);
	r->key = gmac_new(r->session.key);
	return CHECK(r->key != NULL);
}

static void raw_close(struct raw *r)
{
	close(r->fd);
	gmac_free(r->key);
	buf_fini(&r->in);
}

static bool is_closed(struct raw *r, struct member *m)
{
	int64_t end = clock_mono_ns() + PATIENCE_NS;
	char byte;

	while (clock_mono_ns() < end) {
		struct pollfd wait = { .fd = r->fd, .events = POLLIN };

		step(m);
		if (poll(&wait, 1, 1) > 0 && recv(r->fd, &byte, 1, 0) <= 0)
			return true;
	}
	return false;
}

static void test_replay(void)
{
	struct wire_message m = request(5), proof;
	struct envelope second = from_raw;
	struct envelope_mac mac;
	struct member a;
	struct raw r;

	if (!open_member(&a, 0, &secret) || !raw_connect(&r, &a) || !raw_greet(&r, &a, &proof))
		return;
	mac = gmac_mac(r.key);
	second.sequence = 1;
	raw_send(&r, &a, &m, &mac, second);
	run_until(&a, NULL, &a.received, 1);
	raw_send(&r, &a, &m, &mac, second); /* the same again */
	second.sequence = 2;
	raw_send(&r, &a, &m, &mac, second);
	run_until(&a, NULL, &a.received, 2);
	CHECK_INT(counts_of(&a).replayed, 1);
	CHECK_INT(counts_of(&a).refused, 0);
	raw_close(&r);
	run_until(&a, NULL, &a.failed, 1);
	close_member(&a);
}

/* What ends a connection: each row is sent after a complete handshake, or before one. */
static void test_refused(void)
{
	static const struct {
		bool is_greeted, is_signed;
		uint32_t sender, receiver;
		enum wire_type type;
	} rows[] = {
		{ false, true, 1, 0, WIRE_REQUEST }, { false, true, 1, 0, WIRE_CHALLENGE },
		{ false, true, 1, 0, WIRE_PROOF },   { false, false, 1, 0, WIRE_HELLO },
		{ false, true, 1, 2, WIRE_HELLO },   { false, true, 0, 0, WIRE_HELLO },
		{ false, true, 9, 0, WIRE_HELLO },   { true, false, 1, 0, WIRE_REQUEST },
		{ true, true, 2, 0, WIRE_REQUEST },  { true, true, 1, 2, WIRE_REQUEST },
		{ true, true, 1, 0, WIRE_HELLO },    { true, true, 1, 0, WIRE_PROOF },
	};
	struct member a;

	if (!open_member(&a, 0, &secret))
		return;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_message m = request(5), proof;
		struct envelope envelope = from_raw;
		struct envelope_mac mac;
		struct raw r;

		if (!raw_connect(&r, &a) || (rows[i].is_greeted && !raw_greet(&r, &a, &proof)))
			break;
		m.type = rows[i].type;
		envelope.sender = rows[i].sender;
		envelope.receiver = rows[i].receiver;
		envelope.sequence = 1;
		if (!rows[i].is_signed)
			memset(r.secret.bytes, 9, sizeof(r.secret.bytes));
		mac = hmac_mac(&r.secret);
		if (rows[i].is_greeted && rows[i].is_signed && m.type == WIRE_REQUEST)
			mac = gmac_mac(r.key);
		raw_send(&r, &a, &m, &mac, envelope);
		if (!CHECK(is_closed(&r, &a)))
			fprintf(stderr, "row %zu\n", i);
		raw_close(&r);
	}
	CHECK_INT(a.received, 0);
	CHECK_INT(counts_of(&a).refused, ARRAY_LEN(rows));
	CHECK_INT(counts_of(&a).connected, 0);
	close_member(&a);
}

/* A recorded handshake, sent again on another connection, proves nothing. */
static void test_recorded(void)
{
	struct wire_message proof, hello = { .type = WIRE_HELLO, .nonce_a = { 42 } }, m;
	struct envelope envelope;
	struct envelope_mac mac;
	struct member a;
	struct raw r, again;

	if (!open_member(&a, 0, &secret) || !raw_connect(&r, &a) || !raw_greet(&r, &a, &proof) ||
	    !raw_connect(&again, &a))
		return;
	mac = hmac_mac(&again.secret);
	raw_send(&again, &a, &hello, &mac, from_raw);
	CHECK(raw_receive(&again, &a, &envelope, &m));
	raw_send(&again, &a, &proof, &mac, from_raw);
	CHECK(is_closed(&again, &a));
	CHECK_INT(counts_of(&a).connected, 1);
	CHECK_INT(counts_of(&a).refused, 1);
	raw_close(&again);
	raw_close(&r);
	close_member(&a);
}

/* A peer that sends and does not read: what is queued for it is bounded. */
static void test_not_reading(void)
{
	struct wire_message m = { .type = WIRE_ALIVE }, proof;
	struct member a;
	struct raw r;

	if (!open_member(&a, 0, &secret) || !raw_connect(&r, &a) || !raw_greet(&r, &a, &proof))
		return;
	step(&a);
	for (int i = 0; i < 1000000 && !a.failed; i++) {
		transport->send(a.self, 1, &m);
		if (i % 1000 == 0)
			step(&a);
	}
	CHECK_INT(a.failed, 1);
	raw_close(&r);
	close_member(&a);
}

int main(void)
{
	struct err e;

	if (mac_open(&e) < 0) {
		printf("1..0 # SKIP %s\n", e.msg);
		return 0;
	}
	transport = &transport_tcp;
	TAP_CASE(test_messages);
	TAP_CASE(test_end);
	TAP_CASE(test_order);
	TAP_CASE(test_both_connect);
	TAP_CASE(test_failures);
	TAP_CASE(test_wake);
	TAP_CASE(test_bad_endpoints);
	TAP_CASE(test_replay);
	TAP_CASE(test_refused);
	TAP_CASE(test_recorded);
	TAP_CASE(test_not_reading);
	return tap_done();
}
