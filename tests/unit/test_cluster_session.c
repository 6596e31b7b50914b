/* SPDX-License-Identifier: MIT */
#include "cluster/session.h"

#include <errno.h>

#include "tap.h"

/* A sum in place of HMAC. */
static void sign(void *self, const void *bytes, size_t len, unsigned char ret[ENVELOPE_MAC])
{
	const unsigned char *at = bytes;

	memset(ret, *(const unsigned char *)self, ENVELOPE_MAC);
	for (size_t i = 0; i < len; i++)
		ret[i % ENVELOPE_MAC] = (unsigned char)(ret[i % ENVELOPE_MAC] * 31 + at[i]);
}

static unsigned char byte = 7;
static const struct envelope_mac secret = { sign, &byte };

/* Two nodes; each message takes a new nonce. */
struct pair {
	struct session sessions[2]; /* of ranks 0 and 1 */
	uint64_t epochs[2];
	unsigned char nonces;
};

static void hello(struct pair *p, uint32_t rank, struct wire_message *ret)
{
	unsigned char nonce[WIRE_NONCE] = { ++p->nonces };

	session_hello(&p->sessions[rank], nonce, ret);
}

static int deliver(struct pair *p, uint32_t to, const struct wire_message *m,
		   struct wire_message *ret)
{
	unsigned char nonce[WIRE_NONCE] = { ++p->nonces };
	struct envelope e = { .sender = 1 - to, .receiver = to, .epoch = p->epochs[1 - to] };

	return session_receive(&p->sessions[to], &secret, &e, m, nonce, ret);
}

static bool is_joined(const struct pair *p)
{
	return p->sessions[0].is_ready && p->sessions[1].is_ready &&
	       memcmp(p->sessions[0].key, p->sessions[1].key, ENVELOPE_MAC) == 0 &&
	       p->sessions[0].epoch == p->epochs[1] && p->sessions[1].epoch == p->epochs[0];
}

static void shake(struct pair *p, uint32_t first)
{
	struct wire_message greeting, challenge, proof, none;

	hello(p, first, &greeting);
	CHECK_INT(deliver(p, 1 - first, &greeting, &challenge), 1);
	CHECK(challenge.type == WIRE_CHALLENGE);
	CHECK_INT(deliver(p, first, &challenge, &proof), 1);
	CHECK(proof.type == WIRE_PROOF);
	CHECK_INT(deliver(p, 1 - first, &proof, &none), 0);
	CHECK(is_joined(p));
}

static void test_handshake(void)
{
	for (uint32_t first = 0; first < 2; first++) {
		struct pair p = { .epochs = { 5, 6 } };

		shake(&p, first);
	}
}

static void test_both_at_once(void)
{
	struct pair p = { .epochs = { 5, 6 } };
	struct wire_message of_0, of_1, challenge, proof, none;

	hello(&p, 0, &of_0);
	hello(&p, 1, &of_1);
	CHECK_INT(deliver(&p, 0, &of_1, &none), 0);
	CHECK_INT(deliver(&p, 1, &of_0, &challenge), 1);
	CHECK_INT(deliver(&p, 0, &challenge, &proof), 1);
	CHECK_INT(deliver(&p, 1, &proof, &none), 0);
	CHECK(is_joined(&p));
}

/* Whatever is recorded and sent again, in any order, the session stays as it is. */
static void test_replays(void)
{
	struct pair p = { .epochs = { 5, 6 } };
	struct wire_message recorded[3], ret;
	struct session before;

	hello(&p, 0, &recorded[0]);
	CHECK_INT(deliver(&p, 1, &recorded[0], &recorded[1]), 1);
	CHECK_INT(deliver(&p, 0, &recorded[1], &recorded[2]), 1);
	CHECK_INT(deliver(&p, 1, &recorded[2], &ret), 0);
	before = p.sessions[1];
	CHECK_INT(deliver(&p, 1, &recorded[2], &ret), -EPROTO);
	CHECK_INT(deliver(&p, 1, &recorded[1], &ret), -EPROTO);
	CHECK_INT(deliver(&p, 1, &recorded[0], &ret), 1);       /* a new challenge ... */
	CHECK_INT(deliver(&p, 1, &recorded[2], &ret), -EPROTO); /* ... which this does not meet */
	CHECK_INT(deliver(&p, 0, &recorded[1], &ret), -EPROTO);
	CHECK(memcmp(before.key, p.sessions[1].key, ENVELOPE_MAC) == 0 && is_joined(&p));
}

static void test_restart(void)
{
	struct pair p = { .epochs = { 5, 6 } };
	struct session before;
	struct envelope late = { .sender = 0, .receiver = 1, .epoch = 5, .sequence = 1 };

	shake(&p, 0);
	before = p.sessions[1];
	p.sessions[0] = (struct session){ 0 };
	p.epochs[0] = 50;
	shake(&p, 0);
	CHECK(memcmp(before.key, p.sessions[1].key, ENVELOPE_MAC) != 0);
	CHECK(!session_accept(&p.sessions[1], &late));
}

static void test_sequence(void)
{
	struct pair p = { .epochs = { 5, 6 } };
	struct envelope e = { .sender = 0, .receiver = 1, .epoch = 5 };

	CHECK(!session_accept(&p.sessions[1], &e));
	shake(&p, 0);
	CHECK_INT(session_next(&p.sessions[0]), 1);
	e.sequence = session_next(&p.sessions[0]);
	CHECK_INT(e.sequence, 2);
	CHECK(session_accept(&p.sessions[1], &e));
	CHECK(!session_accept(&p.sessions[1], &e));
	e.sequence = 1; /* it was overtaken */
	CHECK(session_accept(&p.sessions[1], &e));
}

int main(void)
{
	TAP_CASE(test_handshake);
	TAP_CASE(test_both_at_once);
	TAP_CASE(test_replays);
	TAP_CASE(test_restart);
	TAP_CASE(test_sequence);
	return tap_done();
}
