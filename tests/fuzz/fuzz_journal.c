/* SPDX-License-Identifier: MIT */
/*
 * The journal of a spool: bodies of records, each with its length in two bytes before it. They get
 * their checksums here, which nothing else would pass. What is accepted is written back equal.
 */
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "format/pprof/fields.h"
#include "format/pprof/pprof.h"
#include "format/pprof/proto.h"
#include "fuzz.h"

static void put_record(struct buf *spool, struct cursor body)
{
	CLEANUP(buf_fini) struct buf record = { 0 };
	size_t len = cursor_left(&body);

	buf_put_u32(&record, (uint32_t)crc32_z(0, body.at, len));
	buf_put(&record, body.at, len);
	proto_put_bytes(spool, PROFILE_JOURNAL, record.data, record.len);
}

static int read_and_write(const struct buf *in, struct buf *ret)
{
	struct profile *p = profile_new();
	struct err e = { 0 };
	int rc;

	FUZZ_CHECK(p);
	rc = pprof_read(p, (const unsigned char *)in->data, in->len, &e);
	FUZZ_CHECK((rc < 0) == (e.msg[0] != '\0'));
	if (rc == 0)
		FUZZ_CHECK(pprof_write(p, ret, &e) == 0);
	profile_free(p);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf spool = { 0 }, first = { 0 }, second = { 0 };
	struct cursor c = cursor_make(data, size);

	while (cursor_left(&c)) {
		uint16_t len = cursor_u16(&c);

		put_record(&spool, cursor_sub(&c, len < cursor_left(&c) ? len : cursor_left(&c)));
	}
	if (!spool.len || read_and_write(&spool, &first) < 0)
		return 0;
	FUZZ_CHECK(read_and_write(&first, &second) == 0);
	FUZZ_CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	return 0;
}
