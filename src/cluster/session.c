/* SPDX-License-Identifier: MIT */
#include "cluster/session.h"

#include <errno.h>
#include <string.h>

void session_hello(struct session *s, const unsigned char nonce[WIRE_NONCE],
		   struct wire_message *ret)
{
	s->has_greeted = true;
	s->has_challenged = false;
	memcpy(s->nonce_a, nonce, WIRE_NONCE);
	*ret = (struct wire_message){ .type = WIRE_HELLO };
	memcpy(ret->nonce_a, nonce, WIRE_NONCE);
}

static void put_nonces(const struct session *s, enum wire_type type, struct wire_message *ret)
{
	*ret = (struct wire_message){ .type = type };
	memcpy(ret->nonce_a, s->nonce_a, WIRE_NONCE);
	memcpy(ret->nonce_b, s->nonce_b, WIRE_NONCE);
}

/* first, second: the ranks that sent HELLO and CHALLENGE. */
static void complete(struct session *s, const struct envelope_mac *secret, uint32_t first,
		     uint32_t second)
{
	struct wire_message nonces;

	put_nonces(s, WIRE_PROOF, &nonces);
	envelope_session_key(secret, &nonces, first, second, s->key);
	s->epoch = s->peer_epoch;
	s->sequence = 0;
	s->window = (struct envelope_window){ 0 };
	s->has_greeted = s->has_challenged = false;
	s->is_ready = true;
}

static bool is_equal(const unsigned char a[WIRE_NONCE], const unsigned char b[WIRE_NONCE])
{
	return memcmp(a, b, WIRE_NONCE) == 0;
}

int session_receive(struct session *s, const struct envelope_mac *secret,
		    const struct envelope *envelope, const struct wire_message *m,
		    const unsigned char nonce[WIRE_NONCE], struct wire_message *ret)
{
	uint32_t peer = envelope->sender, own = envelope->receiver;

	switch (m->type) {
	case WIRE_HELLO:
		if (s->has_greeted && own < peer)
			return 0; /* ours counts */
		s->has_greeted = false;
		s->has_challenged = true;
		s->peer_epoch = envelope->epoch;
		memcpy(s->nonce_a, m->nonce_a, WIRE_NONCE);
		memcpy(s->nonce_b, nonce, WIRE_NONCE);
		put_nonces(s, WIRE_CHALLENGE, ret);
		return 1;
	case WIRE_CHALLENGE:
		if (!s->has_greeted || !is_equal(m->nonce_a, s->nonce_a))
			return -EPROTO;
		s->peer_epoch = envelope->epoch;
		memcpy(s->nonce_b, m->nonce_b, WIRE_NONCE);
		put_nonces(s, WIRE_PROOF, ret);
		complete(s, secret, own, peer);
		return 1;
	case WIRE_PROOF:
		if (!s->has_challenged || !is_equal(m->nonce_a, s->nonce_a) ||
		    !is_equal(m->nonce_b, s->nonce_b) || envelope->epoch != s->peer_epoch)
			return -EPROTO;
		complete(s, secret, peer, own);
		return 0;
	default:
		return -EPROTO;
	}
}

uint64_t session_next(struct session *s)
{
	return ++s->sequence;
}

bool session_accept(struct session *s, const struct envelope *envelope)
{
	return s->is_ready && envelope->epoch == s->epoch &&
	       envelope_window_accept(&s->window, envelope->sequence);
}
