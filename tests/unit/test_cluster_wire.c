/* SPDX-License-Identifier: MIT */
#include "cluster/wire.h"

#include <errno.h>

#include "base/macros.h"
#include "cluster/envelope.h"
#include "tap.h"

#define TEXT(text)                     \
	{                              \
		text, sizeof(text) - 1 \
	}
#define STR(text) (struct str) TEXT(text)

/* clang-format off */
#define ATTR { \
	.identity = { .fs = 1, .ino = UINT64_MAX, .ctime_ns = -1, .size = 3 }, \
	.mode = 0100644, \
	.links = 2, \
	.uid = 1000, \
	.gid = 100, \
	.rdev = 5, \
	.blocks = 8, \
	.block_size = 4096, \
	.mtime_ns = INT64_MIN, \
	.atime_ns = INT64_MAX, \
}
/* clang-format on */

static const struct file_attr attr = ATTR;

static const struct wire_message messages[] = {
	{ .type = WIRE_HELLO, .nonce_a = { 1, 2, 3 } },
	{ .type = WIRE_CHALLENGE, .nonce_a = { 1 }, .nonce_b = { 9 } },
	{ .type = WIRE_PROOF, .nonce_a = { 1 }, .nonce_b = { 9 } },
	{ .type = WIRE_REQUEST, .id = 7, .key = { .op = WIRE_GETATTR, .path = TEXT("") } },
	{ .type = WIRE_REQUEST,
	  .id = UINT64_MAX,
	  .wants_alive = true,
	  .from_storage = true,
	  .max_age_ns = INT64_MAX,
	  .key = { .op = WIRE_CHUNK,
		   .chunk = UINT32_MAX,
		   .path = TEXT("usr/lib/a b.so"),
		   .identity = { 1, 2, 3, 4 } } },
	{ .type = WIRE_REPLY, .id = 1, .error = ENOENT, .age_ns = 5, .held_ns = 6 },
	{ .type = WIRE_REPLY, .id = 1, .has_attr = true, .attr = ATTR },
	{ .type = WIRE_REPLY, .id = 2, .body = { .bytes = "data", .len = 4 } },
	{ .type = WIRE_REPLY,
	  .id = 2,
	  .body = { .len = WIRE_CHUNK_BYTES,
		    .is_remote = true,
		    .address = 1,
		    .memory_key = 2,
		    .digest = { 3 } } },
	{ .type = WIRE_REPLY, .id = 3, .verdict = WIRE_BUSY, .error = EBUSY },
	{ .type = WIRE_REPLY,
	  .id = 3,
	  .verdict = WIRE_FAILED,
	  .error = EIO,
	  .failed = { 3, { 0, 7, UINT32_MAX } } },
	{ .type = WIRE_ALIVE },
	{ .type = WIRE_ALIVE, .wants_alive = true },
	{ .type = WIRE_GOODBYE },
	{ .type = WIRE_TAKEN, .id = 5 },
	{ .type = WIRE_HELLO, .nonce_a = { 1, 2, 3 }, .endpoint = TEXT("tcp:10.0.0.1:7") },
};

/* Each message comes back, and no shorter or longer piece of it is one. */
static void test_messages(void)
{
	for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 }, again = { 0 };
		struct wire_message m;
		struct err e;

		wire_put_message(&b, &messages[i]);
		for (size_t len = 0; len < b.len; len++)
			CHECK(wire_read_message(b.data, len, &m, &e) == -EPROTO);
		buf_put_byte(&b, 0);
		CHECK(wire_read_message(b.data, b.len, &m, &e) == -EPROTO);
		if (!CHECK(wire_read_message(b.data, b.len - 1, &m, &e) == 0))
			continue;
		wire_put_message(&again, &m);
		CHECK_INT(again.len, b.len - 1);
		CHECK(memcmp(again.data, b.data, again.len) == 0);
	}
}

static void test_fields(void)
{
	CLEANUP(buf_fini) struct buf b = { 0 };
	struct wire_message m;
	struct err e;

	wire_put_message(&b, &messages[4]);
	CHECK(wire_read_message(b.data, b.len, &m, &e) == 0);
	CHECK(m.id == UINT64_MAX && m.wants_alive && m.from_storage && m.max_age_ns == INT64_MAX);
	CHECK(str_equals(m.key.path, "usr/lib/a b.so") && m.key.chunk == UINT32_MAX);
	CHECK(file_identity_equals(&m.key.identity, &messages[4].key.identity));
	buf_clear(&b);
	wire_put_message(&b, &messages[6]);
	CHECK(wire_read_message(b.data, b.len, &m, &e) == 0);
	CHECK(m.has_attr && m.attr.mtime_ns == INT64_MIN && m.attr.atime_ns == INT64_MAX &&
	      m.attr.identity.ctime_ns == -1 && m.attr.block_size == 4096);
}

/* Bytes that differ in one place from a message. */
static void test_refused(void)
{
	static const struct {
		size_t message, at;
		unsigned char byte;
	} rows[] = {
		{ 0, 0, 99 },   /* no such type */
		{ 3, 9, 4 },    /* no such flag */
		{ 3, 10, 0 },   /* no such operation */
		{ 3, 10, 6 },   /* the same */
		{ 3, 18, 255 }, /* an age below zero */
		{ 3, 20, 16 },  /* a path of more than 4 KiB */
		{ 4, 23, 0 },   /* NUL in a path */
		{ 5, 9, 3 },    /* no such verdict */
		{ 5, 11, 16 },  /* errno 4096 and more */
		{ 10, 15, 9 },  /* ranks that do not ascend */
		{ 9, 10, 0 },   /* busy without a reason */
		{ 11, 1, 2 },   /* no such flag */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };
		struct wire_message m;
		struct err e;

		wire_put_message(&b, &messages[rows[i].message]);
		b.data[rows[i].at] = (char)rows[i].byte;
		if (!CHECK(wire_read_message(b.data, b.len, &m, &e) == -EPROTO))
			fprintf(stderr, "row %zu\n", i);
	}
}

static void test_listing(void)
{
	CLEANUP(buf_fini) struct buf b = { 0 };
	struct file_attr got;
	struct cursor c;
	struct str name;

	wire_put_entry(&b, STR("a"), &attr);
	wire_put_entry(&b, STR("b c"), &attr);
	c = cursor_make(b.data, b.len);
	CHECK(wire_next_entry(&c, &name, &got) && str_equals(name, "a"));
	CHECK(wire_next_entry(&c, &name, &got) && str_equals(name, "b c"));
	CHECK(got.uid == 1000 && file_identity_equals(&got.identity, &attr.identity));
	CHECK(!wire_next_entry(&c, &name, &got) && !c.bad);
	b.data[1] = '/';
	c = cursor_make(b.data, b.len);
	CHECK(!wire_next_entry(&c, &name, &got) && c.bad);
	c = cursor_make(b.data, b.len - 1);
	CHECK(!wire_next_entry(&c, &name, &got) && c.bad);
}

static void test_xattrs(void)
{
	CLEANUP(buf_fini) struct buf b = { 0 };
	struct str name, value;
	struct cursor c;

	wire_put_xattr(&b, STR("user.a"), STR("\0x"));
	wire_put_xattr(&b, STR("user.b"), STR(""));
	c = cursor_make(b.data, b.len);
	CHECK(wire_next_xattr(&c, &name, &value) && str_equals(name, "user.a") && value.len == 2);
	CHECK(wire_next_xattr(&c, &name, &value) && str_equals(name, "user.b") && !value.len);
	CHECK(!wire_next_xattr(&c, &name, &value) && !c.bad);
}

/* A sum in place of HMAC: enough to see what is signed, with which key. */
static void sign(void *self, const void *bytes, size_t len, unsigned char ret[ENVELOPE_MAC])
{
	const unsigned char *at = bytes;

	memset(ret, *(const unsigned char *)self, ENVELOPE_MAC);
	for (size_t i = 0; i < len; i++)
		ret[i % ENVELOPE_MAC] = (unsigned char)(ret[i % ENVELOPE_MAC] * 31 + at[i]);
}

static unsigned char ours = 1, theirs = 2;
static const struct envelope_mac secret = { sign, &ours }, stranger = { sign, &theirs };
static const struct envelope head = { .sender = 3, .receiver = 4, .epoch = 5, .sequence = 6 };

static void test_envelopes(void)
{
	CLEANUP(buf_fini) struct buf b = { 0 };
	struct wire_message m;
	struct envelope f;
	struct err e;

	envelope_put(&b, &head, &messages[0], &secret);
	for (size_t len = 0; len <= ENVELOPE_HEAD; len++)
		CHECK_INT(envelope_peek(b.data, len, &f, &e), 0);
	CHECK_INT(envelope_peek(b.data, ENVELOPE_HEAD + 1, &f, &e), 1);
	CHECK(f.len == b.len && f.is_handshake && f.sender == 3 && f.receiver == 4);
	CHECK_INT(envelope_open(b.data, b.len, &secret, &f, &m, &e), 0);
	CHECK(m.type == WIRE_HELLO && f.epoch == 5 && f.sequence == 6);
	CHECK_INT(envelope_open(b.data, b.len, &stranger, &f, &m, &e), -EACCES);
	CHECK_STR(e.msg, "message from rank 3 is not signed by this job");
	for (size_t i = ENVELOPE_HEAD; i < b.len; i++) {
		b.data[i] ^= 1;
		CHECK(envelope_open(b.data, b.len, &secret, &f, &m, &e) < 0);
		b.data[i] ^= 1;
	}
	CHECK_INT(envelope_open(b.data, b.len - 1, &secret, &f, &m, &e), -EPROTO);
	b.data[4] = 9;
	CHECK_INT(envelope_open(b.data, b.len, &secret, &f, &m, &e), -EPROTONOSUPPORT);
	CHECK_STR(e.msg, "rank 3 speaks version 9 of the overlay's protocol, this node 2: all "
			 "nodes need the same auger");
	CHECK_INT(envelope_peek("GET / HTTP/1.1", 14, &f, &e), -EPROTO);
}

static void test_window(void)
{
	static const struct {
		uint64_t sequence;
		bool is_accepted;
	} rows[] = {
		{ 0, false },          { 1, true },   { 1, false },         { 3, true },
		{ 2, true },           { 2, false },  { 100, true },        { 36, false },
		{ 37, true },          { 37, false }, { 99, true },         { 164, true },
		{ 100, false },        { 101, true }, { UINT64_MAX, true }, { 7, false },
		{ UINT64_MAX, false },
	};
	struct envelope_window w = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK(envelope_window_accept(&w, rows[i].sequence) == rows[i].is_accepted))
			fprintf(stderr, "row %zu\n", i);
}

static void test_session_keys_differ(void)
{
	unsigned char keys[4][ENVELOPE_MAC];
	struct wire_message proof = { .type = WIRE_PROOF, .nonce_a = { 1 }, .nonce_b = { 2 } };

	envelope_session_key(&secret, &proof, 1, 2, keys[0]);
	envelope_session_key(&secret, &proof, 2, 1, keys[1]);
	envelope_session_key(&stranger, &proof, 1, 2, keys[2]);
	proof.nonce_b[31] = 1;
	envelope_session_key(&secret, &proof, 1, 2, keys[3]);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		for (size_t k = 0; k < i; k++)
			CHECK(memcmp(keys[i], keys[k], ENVELOPE_MAC) != 0);
}

static void test_answers(void)
{
	static const struct {
		int error;
		bool is_answer;
	} rows[] = { { 0, true },          { ENOENT, true },    { EACCES, true },
		     { ESTALE, true },     { EIO, false },      { ENOMEM, false },
		     { ETIMEDOUT, false }, { ENOTCONN, false }, { EMFILE, false },
		     { 4095, false } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(wire_is_answer(rows[i].error), rows[i].is_answer);
}

int main(void)
{
	TAP_CASE(test_messages);
	TAP_CASE(test_fields);
	TAP_CASE(test_refused);
	TAP_CASE(test_listing);
	TAP_CASE(test_xattrs);
	TAP_CASE(test_envelopes);
	TAP_CASE(test_window);
	TAP_CASE(test_session_keys_differ);
	TAP_CASE(test_answers);
	return tap_done();
}
