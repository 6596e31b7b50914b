/* SPDX-License-Identifier: MIT */
/*
 * Records of any shape and content go into a profile without harm. The first bytes of the
 * input choose the shape, the rest is records one behind the other.
 */
#include <elf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/cursor.h"
#include "fuzz.h"
#include "model/profile.h"
#include "perf/ingest.h"
#include "perf/record.h"

static struct record_shape take_shape(struct cursor *c)
{
	return (struct record_shape){
		/* all bits of a sample that the kernel knows */
		.sample_type = cursor_u32(c) & (PERF_SAMPLE_MAX - 1),
		.read_format = cursor_u8(c),
		.branch_sample_type = cursor_u16(c),
		.regs_user = cursor_u32(c),
		.regs_intr = cursor_u32(c),
		.sample_id_all = cursor_u8(c) & 1,
	};
}

static void feed(struct ingest *in, const struct profile *p, const struct record_shape *shape,
		 struct cursor *c)
{
	size_t len;

	while ((len = record_len(c->at, cursor_left(c))) > 0) {
		struct record r;
		struct err e;
		uint64_t id;

		(void)record_peek_time(shape, c->at, len);
		(void)record_peek_id(shape, c->at, len, &id);
		if (record_decode(&r, shape, c->at, len, &e) == 0)
			/* only the sums of hostile periods fail */
			FUZZ_CHECK(ingest_record(in, &r, 0) == 0 || profile_error(p) == -EOVERFLOW);
		else
			ingest_count_bad(in);
		cursor_skip(c, len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ingest_event event = { "cpu", "nanoseconds", 1 };
	struct cursor c = cursor_make(data, size);
	struct record_shape shape = take_shape(&c);
	struct profile *p = profile_new();
	struct ingest_opts opts = { .dsos = { .profile = p }, .machine = EM_X86_64 };
	struct ingest *in = p ? ingest_new(&opts, &event, 1) : NULL;

	if (in) {
		feed(in, p, &shape, &c);
		FUZZ_CHECK(ingest_finish(in) == 0 || profile_error(p) == -EOVERFLOW);
	}
	ingest_free(in);
	profile_free(p);
	return 0;
}
