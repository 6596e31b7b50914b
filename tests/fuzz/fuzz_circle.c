/* SPDX-License-Identifier: MIT */
/*
 * Any file of a format that is recognized: each format that can be written takes its profile, and
 * the folded text of it is the same after a circle through pprof. The length chooses what is
 * written.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "format/folded.h"
#include "format/formats.h"
#include "format/pprof/pprof.h"
#include "fuzz.h"

static void free_profile(struct profile **p)
{
	profile_free(*p);
}

/* false: sums of names that are written alike leave their range. */
static bool put(const struct format *format, const struct profile *p, struct buf *out)
{
	struct err e = { 0 };
	int rc = format->write(p, out, &e);

	FUZZ_CHECK(rc == 0 || (rc < 0 && e.msg[0]));
	FUZZ_CHECK(buf_error(out) == 0);
	return rc == 0;
}

/* In one of the formats. */
static void put_some(const struct profile *p, size_t choice)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	size_t count = 0;

	while (formats[count])
		count++;
	if (formats[choice % count]->write)
		put(formats[choice % count], p, &out);
}

/* Are all names UTF-8? Others are written as text by pprof, whose strings are. */
static bool has_clean_names(const struct profile *p)
{
	for (uint32_t i = 0; i < profile_str_count(p); i++) {
		struct str name = profile_get_str(p, i);

		if (utf8_clean_len(name.ptr, name.len) < name.len)
			return false;
	}
	return true;
}

static void check_circle(const struct profile *p)
{
	CLEANUP(buf_fini) struct buf before = { 0 }, bytes = { 0 }, after = { 0 };
	CLEANUP(free_profile) struct profile *back = profile_new();
	struct err e;

	FUZZ_CHECK(back);
	if (!put(&format_folded, p, &before) || !put(&format_pprof, p, &bytes))
		return;
	FUZZ_CHECK(format_pprof.read(back, (const unsigned char *)bytes.data, bytes.len, &e) == 0);
	FUZZ_CHECK(put(&format_folded, back, &after));
	FUZZ_CHECK(before.len == after.len);
	FUZZ_CHECK(!before.len || memcmp(before.data, after.data, before.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format *format = format_detect("input", data, size);
	CLEANUP(free_profile) struct profile *p = profile_new();
	struct err e;

	FUZZ_CHECK(p);
	if (!format || !format->read || format->read(p, data, size, &e) < 0)
		return 0;
	put_some(p, size);
	if (has_clean_names(p))
		check_circle(p);
	return 0;
}
