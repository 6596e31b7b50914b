/* SPDX-License-Identifier: MIT */
/*
 * Any text of perf script, behind a byte that chooses options, folded as the original tools do it:
 * from the text, and from its profile. What comes out are folded stacks, each once, in order.
 */
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "format/collapse.h"
#include "format/folded.h"
#include "format/perfscript/perfscript.h"
#include "format/perfscript/stackcollapse.h"
#include "fuzz.h"

enum {
	HAS_PID = 1,
	HAS_TID = 2,
	MARKS_KERNEL = 4,
	MARKS_JIT = 8,
	HAS_ADDRESSES = 16,
	HAS_SOURCES = 32
};

/* A line: a stack without a line end, a blank, a number. */
static size_t stack_len(const char *line, size_t len)
{
	size_t at = len;

	while (at && line[at - 1] >= '0' && line[at - 1] <= '9')
		at--;
	FUZZ_CHECK(at < len);
	at -= at && line[at - 1] == '-';
	FUZZ_CHECK(at && line[at - 1] == ' ');
	return at - 1;
}

static void check_lines(const struct buf *text)
{
	const char *at = text->data, *last = NULL;
	size_t last_len = 0;

	for (const char *end; text->len && *at; at = end + 1) {
		size_t len;
		int order;

		end = strchr(at, '\n');
		FUZZ_CHECK(end);
		len = stack_len(at, (size_t)(end - at));
		order = last ? memcmp(last, at, len < last_len ? len : last_len) : -1;
		FUZZ_CHECK(order < 0 || (order == 0 && last_len < len));
		last = at;
		last_len = len;
	}
}

static void collapse_text(const uint8_t *data, size_t size, unsigned choice)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	const struct stackcollapse_opts o = {
		.has_pid = choice & HAS_PID,
		.has_tid = choice & HAS_TID,
		.marks_kernel = choice & MARKS_KERNEL,
		.marks_jit = choice & MARKS_JIT,
		.has_addresses = choice & HAS_ADDRESSES,
		.has_sources = choice & HAS_SOURCES,
	};
	struct stackcollapse_report report;
	struct err e;

	FUZZ_CHECK(stackcollapse(data, size, &o, &report, &out, &e) == 0);
	FUZZ_CHECK(buf_error(&out) == 0);
	if (!memchr(data, '\0', size))
		check_lines(&out);
}

static void collapse_profile(const uint8_t *data, size_t size, unsigned choice)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct profile *p = profile_new(), *collapsed = NULL;
	struct collapse_opts o = {
		.has_pid = choice & HAS_PID,
		.has_tid = choice & HAS_TID,
		.marks_kernel = choice & MARKS_KERNEL,
		.marks_jit = choice & MARKS_JIT,
		.has_addresses = choice & HAS_ADDRESSES,
	};
	struct err e;

	FUZZ_CHECK(p);
	if (format_perfscript.read(p, data, size, &e) == 0 && profile_type_count(p)) {
		o.type = profile_default_type(p);
		if (profile_collapse(p, &o, &collapsed, &e) == 0)
			(void)!format_folded.write(collapsed, &out, &e);
	}
	profile_free(collapsed);
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	collapse_text(data + 1, size - 1, data[0]);
	collapse_profile(data + 1, size - 1, data[0]);
	return 0;
}
