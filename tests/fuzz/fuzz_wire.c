/* SPDX-License-Identifier: MIT */
/*
 * Any bytes taken for an envelope, a message, a listing and extended attributes of the overlay
 * between nodes. What is accepted is written back equal, and has only numbers and names that are
 * allowed.
 */
#include <string.h>

#include "base/buf.h"
#include "cluster/envelope.h"
#include "cluster/wire.h"
#include "fuzz.h"

static void check_message(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct wire_message m;
	struct err e;

	if (wire_read_message(data, size, &m, &e) < 0)
		return;
	if (m.type == WIRE_REQUEST) {
		FUZZ_CHECK(m.max_age_ns >= 0 && m.key.path.len <= WIRE_MAX_PATH);
		FUZZ_CHECK(!m.key.path.len || !memchr(m.key.path.ptr, '\0', m.key.path.len));
	}
	if (m.type == WIRE_REPLY) {
		FUZZ_CHECK(m.age_ns >= 0 && m.held_ns >= 0 && m.error >= 0);
		FUZZ_CHECK(m.failed.count <= WIRE_MAX_RANKS && m.body.len <= WIRE_MAX_BODY);
	}
	wire_put_message(&out, &m);
	FUZZ_CHECK(buf_error(&out) == 0);
	FUZZ_CHECK(out.len == size && memcmp(out.data, data, size) == 0);
}

static void check_entries(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct cursor c = cursor_make(data, size);
	struct file_attr attr;
	struct str name;

	while (wire_next_entry(&c, &name, &attr))
		wire_put_entry(&out, name, &attr);
	FUZZ_CHECK(buf_error(&out) == 0);
	if (!c.bad)
		FUZZ_CHECK(out.len == size && (!size || memcmp(out.data, data, size) == 0));
}

static void check_xattrs(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct cursor c = cursor_make(data, size);
	struct str name, value;

	while (wire_next_xattr(&c, &name, &value))
		wire_put_xattr(&out, name, value);
	FUZZ_CHECK(buf_error(&out) == 0);
	if (!c.bad)
		FUZZ_CHECK(out.len == size && (!size || memcmp(out.data, data, size) == 0));
}

/* Any MAC is right: what the network sends is decoded only behind a right one, but must do no harm
 * when a node of the job has gone wrong. */
static void sign(void *self, const void *bytes, size_t len, unsigned char ret[ENVELOPE_MAC])
{
	const uint8_t *envelope = self;

	(void)bytes;
	memcpy(ret, envelope + len, ENVELOPE_MAC);
}

static void check_envelope(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf envelope = { 0 }, out = { 0 };
	struct envelope_mac mac = { .sign = sign };
	struct wire_message m;
	struct envelope f;
	struct err e;

	buf_put(&envelope, data, size);
	FUZZ_CHECK(buf_error(&envelope) == 0);
	mac.self = envelope.data;
	if (envelope_open(envelope.data, envelope.len, &mac, &f, &m, &e) < 0)
		return;
	FUZZ_CHECK(f.len == size);
	envelope_put(&out, &f, &m, &mac);
	FUZZ_CHECK(out.len == size && memcmp(out.data, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_message(data, size);
	check_entries(data, size);
	check_xattrs(data, size);
	check_envelope(data, size);
	return 0;
}
