/* SPDX-License-Identifier: MIT */
#include "format/pprof/pprof.h"

#include "base/cursor.h"
#include "base/str.h"
#include "format/gzip_reader.h"
#include "format/pprof/fields.h"
#include "format/pprof/proto.h"

/* Does a field of the profile have the type that it must have? */
static bool is_typed_right(const struct proto_field *f)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
	case PROFILE_SAMPLE:
	case PROFILE_MAPPING:
	case PROFILE_LOCATION:
	case PROFILE_FUNCTION:
	case PROFILE_STRING_TABLE:
	case PROFILE_PERIOD_TYPE:
		return f->type == PROTO_BYTES;
	case PROFILE_COMMENT:
		return f->type == PROTO_BYTES || f->type == PROTO_VARINT;
	default:
		return f->number > PROFILE_DOC_URL || f->type == PROTO_VARINT;
	}
}

/* A value type has two numbers: that separates messages from text, of which many bytes could be
 * the length of a field. */
static bool is_value_type(struct cursor message)
{
	struct proto_field f;
	enum proto_status status;

	while ((status = proto_next(&message, &f)) == PROTO_FIELD)
		if (f.number > VALUE_TYPE_UNIT || f.type != PROTO_VARINT)
			return false;
	return status == PROTO_END;
}

/* Every message has control characters: the keys of its fields are some. */
static bool is_plain_text(struct cursor c)
{
	while (cursor_left(&c)) {
		uint32_t byte = cursor_u8(&c);

		if (byte < ' ' && !str_is_blank((char)byte) && byte != '\n')
			return false;
	}
	return true;
}

bool pprof_detect(const unsigned char *data, size_t len)
{
	enum { LOOK_BYTES = 4096, ENOUGH_FIELDS = 16 };
	unsigned char start[LOOK_BYTES];
	struct cursor c = cursor_make(start, gzip_reader_peek(data, len, start, sizeof start));
	enum proto_status status = PROTO_END;
	size_t found = 0;

	if (is_plain_text(c))
		return false;
	while (found < ENOUGH_FIELDS) {
		struct proto_field f = { 0 };
		bool is_record;

		status = proto_next(&c, &f);
		is_record = f.number == PROFILE_JOURNAL && f.type == PROTO_BYTES;
		if (status != PROTO_FIELD) {
			found += status == PROTO_CUT && is_record; /* mostly larger than this */
			break;
		}
		if (!is_typed_right(&f) ||
		    (f.number == PROFILE_SAMPLE_TYPE && !is_value_type(f.bytes)))
			return false;
		found += (f.number <= PROFILE_DOC_URL && f.type == PROTO_BYTES) || is_record;
	}
	return found > 0 && status != PROTO_BAD;
}

static const char *const suffixes[] = { ".pb.gz", ".pprof", ".prof.gz", ".pb", NULL };

const struct format format_pprof = {
	.name = "pprof",
	.summary = "profile.proto, gzipped: auger's own, go tool pprof",
	.mark = "gzip or fields of profile.proto",
	.lost = "-",
	.suffixes = suffixes,
	.detect = pprof_detect,
	.read = pprof_read,
	.write = pprof_write,
};
