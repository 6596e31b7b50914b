/* SPDX-License-Identifier: MIT */
/*
 * One format (FORMAT, by its name): what it accepts, it writes back equal. A format that is
 * only read is written as pprof, and so are speedscope, in which stacks of different names can be
 * equal, firefox, which leaves out small values, and callgrind, which has no
 * stacks.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "format/formats.h"
#include "fuzz.h"

static void free_profile(struct profile **p)
{
	profile_free(*p);
}

static int read_and_write(const struct format *in, const struct format *out, const void *data,
			  size_t size, struct buf *ret)
{
	CLEANUP(free_profile) struct profile *p = profile_new();
	struct err e = { 0 };
	int rc;

	FUZZ_CHECK(p);
	rc = in->read(p, data, size, &e);
	FUZZ_CHECK((rc < 0) == (e.msg[0] != '\0'));
	if (rc < 0)
		return rc;
	rc = out->write(p, ret, &e);
	/* names that differ can be written the same, and their sum can leave its range */
	FUZZ_CHECK(rc == 0 || rc == -EOVERFLOW);
	FUZZ_CHECK(buf_error(ret) == 0);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format *format = format_find(FORMAT);
	bool is_own = format->write && strcmp(format->name, "speedscope") != 0 &&
		      strcmp(format->name, "firefox") != 0 &&
		      strcmp(format->name, "callgrind") != 0;
	const struct format *out = is_own ? format : format_find("pprof");
	CLEANUP(buf_fini) struct buf first = { 0 }, second = { 0 };

	format->detect(data, size);
	if (read_and_write(format, out, data, size, &first) < 0)
		return 0;
	FUZZ_CHECK(read_and_write(out, out, first.data, first.len, &second) == 0);
	FUZZ_CHECK(first.len == second.len);
	FUZZ_CHECK(!first.len || memcmp(first.data, second.data, first.len) == 0);
	return 0;
}
