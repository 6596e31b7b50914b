/* SPDX-License-Identifier: MIT */
#include "cluster/envelope.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define MAGIC 0x52475541u /* "AUGR" */

static void put_u16(struct buf *b, uint16_t value)
{
	buf_put_byte(b, (unsigned char)value);
	buf_put_byte(b, (unsigned char)(value >> 8));
}

void envelope_put(struct buf *b, const struct envelope *f, const struct wire_message *m,
		  const struct envelope_mac *mac)
{
	size_t start = b->len;
	unsigned char sum[ENVELOPE_MAC] = { 0 };
	uint32_t payload;

	buf_put_u32(b, MAGIC);
	put_u16(b, ENVELOPE_VERSION);
	put_u16(b, 0);
	buf_put_u32(b, 0); /* the length, set below */
	buf_put_u32(b, f->sender);
	buf_put_u32(b, f->receiver);
	buf_put_u64(b, f->epoch);
	buf_put_u64(b, f->sequence);
	wire_put_message(b, m);
	if (b->bad)
		return;
	payload = (uint32_t)(b->len - start - ENVELOPE_HEAD);
	assert(payload <= ENVELOPE_MAX_PAYLOAD);
	for (int i = 0; i < 4; i++)
		b->data[start + 8 + (size_t)i] = (char)(payload >> 8 * i);
	if (mac)
		mac->sign(mac->self, b->data + start, b->len - start, sum);
	buf_put(b, sum, sizeof sum);
}

void envelope_seal(void *bytes, size_t len, uint64_t sequence, const struct envelope_mac *mac)
{
	unsigned char *at = bytes;

	assert(len > ENVELOPE_HEAD + ENVELOPE_MAC);
	for (int i = 0; i < 8; i++)
		at[ENVELOPE_SEQUENCE + i] = (unsigned char)(sequence >> 8 * i);
	mac->sign(mac->self, at, len - ENVELOPE_MAC, at + len - ENVELOPE_MAC);
}

int envelope_peek(const void *bytes, size_t len, struct envelope *ret, struct err *e)
{
	struct cursor c = cursor_make(bytes, len);
	struct envelope f;
	uint32_t payload;
	unsigned version, zero, type;

	if (len >= 4 && cursor_u32(&c) != MAGIC)
		return err_set(e, -EPROTO, "not a message of a cache's overlay");
	if (len < ENVELOPE_HEAD + 1)
		return 0;
	version = cursor_u16(&c);
	zero = cursor_u16(&c);
	payload = cursor_u32(&c);
	f.sender = cursor_u32(&c);
	f.receiver = cursor_u32(&c);
	f.epoch = cursor_u64(&c);
	f.sequence = cursor_u64(&c);
	if (version != ENVELOPE_VERSION)
		return err_set(e, -EPROTONOSUPPORT,
			       "rank %u speaks version %u of the overlay's protocol, this node %d: "
			       "all nodes need the same auger",
			       f.sender, version, ENVELOPE_VERSION);
	if (zero || !payload || payload > ENVELOPE_MAX_PAYLOAD)
		return err_set(e, -EPROTO, "message of %u bytes from rank %u is malformed", payload,
			       f.sender);
	type = cursor_u8(&c);
	f.is_handshake = type == WIRE_HELLO || type == WIRE_CHALLENGE || type == WIRE_PROOF;
	f.len = ENVELOPE_HEAD + payload + ENVELOPE_MAC;
	*ret = f;
	return 1;
}

/* Takes as long for each wrong MAC, wherever it differs. */
static bool equals(const unsigned char *a, const unsigned char *b, size_t len)
{
	unsigned char difference = 0;

	for (size_t i = 0; i < len; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return !difference;
}

int envelope_open(const void *bytes, size_t len, const struct envelope_mac *mac,
		  struct envelope *ret, struct wire_message *ret_message, struct err *e)
{
	const unsigned char *start = bytes;
	unsigned char sum[ENVELOPE_MAC];
	struct envelope f;
	int rc = envelope_peek(bytes, len, &f, e);

	if (rc < 0)
		return rc;
	if (!rc || f.len != len)
		return err_set(e, -EPROTO, "message of %zu bytes is not whole", len);
	mac->sign(mac->self, start, len - ENVELOPE_MAC, sum);
	if (!equals(sum, start + len - ENVELOPE_MAC, ENVELOPE_MAC))
		return err_set(e, -EACCES, "message from rank %u is not signed by this job",
			       f.sender);
	rc = wire_read_message(start + ENVELOPE_HEAD, len - ENVELOPE_HEAD - ENVELOPE_MAC,
			       ret_message, e);
	if (rc == 0)
		*ret = f;
	return rc;
}

bool envelope_window_accept(struct envelope_window *w, uint64_t sequence)
{
	uint64_t behind;

	if (!sequence)
		return false;
	if (sequence > w->top) {
		uint64_t ahead = sequence - w->top;

		w->seen = ahead < 64 ? w->seen << ahead | 1 : 1;
		w->top = sequence;
		return true;
	}
	behind = w->top - sequence;
	if (behind >= 64 || w->seen >> behind & 1)
		return false;
	w->seen |= UINT64_C(1) << behind;
	return true;
}

void envelope_session_key(const struct envelope_mac *secret, const struct wire_message *proof,
			  uint32_t a, uint32_t b, unsigned char ret[ENVELOPE_MAC])
{
	static const char label[] = "auger overlay session";
	unsigned char text[sizeof label + 2 * WIRE_NONCE + 8];
	unsigned char *at = text;

	memcpy(at, label, sizeof label);
	at += sizeof label;
	memcpy(at, proof->nonce_a, WIRE_NONCE);
	at += WIRE_NONCE;
	memcpy(at, proof->nonce_b, WIRE_NONCE);
	at += WIRE_NONCE;
	for (int i = 0; i < 4; i++) {
		at[i] = (unsigned char)(a >> 8 * i);
		at[4 + i] = (unsigned char)(b >> 8 * i);
	}
	secret->sign(secret->self, text, sizeof text, ret);
}
