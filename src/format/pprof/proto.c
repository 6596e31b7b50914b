/* SPDX-License-Identifier: MIT */
#include "format/pprof/proto.h"

#include <errno.h>
#include <inttypes.h>

enum {
	TYPE_BITS = 3,
	TYPE_MASK = 7,
};

static bool read_varint(struct cursor *c, uint64_t *ret)
{
	*ret = proto_number(c);
	return !c->bad;
}

/* A varint that is not cut was over 64 bits. */
static enum proto_status number_status(const unsigned char *at, const unsigned char *end)
{
	enum { MAX_VARINT = 10 };

	return end - at < MAX_VARINT ? PROTO_CUT : PROTO_BAD;
}

/* One field, groups as they come: their end is a field of its own. */
static enum proto_status read_field(struct cursor *c, struct proto_field *ret)
{
	const unsigned char *at = c->at;
	uint64_t key;

	if (!cursor_left(c))
		return PROTO_END;
	if (!read_varint(c, &key))
		return number_status(at, c->end);
	ret->number = key >> TYPE_BITS;
	ret->type = (enum proto_type)(key & TYPE_MASK);
	if (ret->number == 0)
		return PROTO_BAD;
	at = c->at;
	switch (ret->type) {
	case PROTO_VARINT:
		return read_varint(c, &ret->value) ? PROTO_FIELD : number_status(at, c->end);
	case PROTO_FIXED64:
		ret->value = cursor_u64(c);
		break;
	case PROTO_FIXED32:
		ret->value = cursor_u32(c);
		break;
	case PROTO_BYTES:
		if (!read_varint(c, &ret->value))
			return number_status(at, c->end);
		ret->bytes = cursor_sub(c, ret->value);
		break;
	case PROTO_GROUP:
	case PROTO_GROUP_END:
		break;
	default:
		return PROTO_BAD;
	}
	return c->bad ? PROTO_CUT : PROTO_FIELD;
}

enum proto_status proto_next(struct cursor *c, struct proto_field *ret)
{
	uint64_t depth = 0; /* of groups */

	for (;;) {
		enum proto_status status = read_field(c, ret);

		if (status == PROTO_END && depth)
			return PROTO_CUT;
		if (status != PROTO_FIELD)
			return status;
		if (ret->type == PROTO_GROUP)
			depth++;
		else if (ret->type == PROTO_GROUP_END && !depth--)
			return PROTO_BAD;
		else if (ret->type != PROTO_GROUP_END && !depth)
			return PROTO_FIELD;
	}
}

int proto_end(enum proto_status status, const char *kind, struct err *e)
{
	if (status == PROTO_END)
		return 0;
	return err_set(e, -EINVAL, "%s is %s", kind, status == PROTO_CUT ? "cut off" : "malformed");
}

int proto_take_number(const struct proto_field *f, const char *kind, uint64_t *ret, struct err *e)
{
	if (f->type != PROTO_VARINT)
		return err_set(e, -EINVAL, "field %" PRIu64 " of a %s is not a number", f->number,
			       kind);
	*ret = f->value;
	return 0;
}

int proto_take_bytes(const struct proto_field *f, const char *kind, struct cursor *ret,
		     struct err *e)
{
	if (f->type != PROTO_BYTES)
		return err_set(e, -EINVAL, "field %" PRIu64 " of a %s has no length", f->number,
			       kind);
	*ret = f->bytes;
	return 0;
}

int proto_read_numbers(struct cursor *message, const char *kind, uint64_t *ret, size_t count,
		       struct err *e)
{
	enum proto_status status;
	struct proto_field f;

	while ((status = proto_next(message, &f)) == PROTO_FIELD) {
		int rc = f.number < count ? proto_take_number(&f, kind, &ret[f.number], e) : 0;

		if (rc < 0)
			return rc;
	}
	return proto_end(status, kind, e);
}

static void put_key(struct buf *b, uint32_t field, enum proto_type type)
{
	buf_put_varint(b, (uint64_t)field << TYPE_BITS | type);
}

void proto_put_number(struct buf *b, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	put_key(b, field, PROTO_VARINT);
	buf_put_varint(b, value);
}

void proto_put_bytes(struct buf *b, uint32_t field, const void *bytes, size_t len)
{
	put_key(b, field, PROTO_BYTES);
	buf_put_varint(b, len);
	buf_put(b, bytes, len);
}
