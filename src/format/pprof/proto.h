/* SPDX-License-Identifier: MIT */
/*
 * proto: protobuf's wire format, read from a cursor and written to a buf.
 *
 * kind is the name of a message in errors: "sample".
 *
 * Source: protobuf.dev/programming-guides/encoding.
 */
#ifndef FORMAT_PPROF_PROTO_H
#define FORMAT_PPROF_PROTO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"

enum proto_type {
	PROTO_VARINT = 0,
	PROTO_FIXED64 = 1,
	PROTO_BYTES = 2, /* a string, a message, packed numbers */
	PROTO_GROUP = 3,
	PROTO_GROUP_END = 4,
	PROTO_FIXED32 = 5,
};

struct proto_field {
	uint64_t number;
	enum proto_type type; /* never a group: those are skipped */
	uint64_t value;       /* of numbers */
	struct cursor bytes;  /* of PROTO_BYTES; borrowed */
};

enum proto_status {
	PROTO_END,   /* of the message */
	PROTO_FIELD, /* *ret is set */
	PROTO_CUT,   /* the bytes end within a field */
	PROTO_BAD,   /* not a message */
};

/* The next field of a message; groups are skipped whole. */
enum proto_status proto_next(struct cursor *c, struct proto_field *ret);

/* The next number of packed ones; c->bad when it is cut. */
static inline uint64_t proto_number(struct cursor *c)
{
	if (c->at < c->end && *c->at < 0x80)
		return *c->at++;
	return cursor_varint(c);
}

/* The result for a message's last status: 0, or -EINVAL "KIND is cut off". */
int proto_end(enum proto_status status, const char *kind, struct err *e) MUST_CHECK;

/* The value of a field that must be one number. -EINVAL when it is not. */
int proto_take_number(const struct proto_field *f, const char *kind, uint64_t *ret,
		      struct err *e) MUST_CHECK;

/* The same for a string or a message. */
int proto_take_bytes(const struct proto_field *f, const char *kind, struct cursor *ret,
		     struct err *e) MUST_CHECK;

/* A message of numbers only: field n goes to ret[n], n < count; the rest is skipped. */
int proto_read_numbers(struct cursor *message, const char *kind, uint64_t *ret, size_t count,
		       struct err *e) MUST_CHECK;

/* 0 is the default and not written. */
void proto_put_number(struct buf *b, uint32_t field, uint64_t value);
void proto_put_bytes(struct buf *b, uint32_t field, const void *bytes, size_t len);

#endif
