/* SPDX-License-Identifier: MIT */
#include "format/akaros/akaros.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "format/akaros/period.h"
#include "tap.h"

/* Byte for byte as the document has it: core 5, two addresses. */
static void test_bytes(void)
{
	static const unsigned char want[] = { 2, 0, 5, 0,    0, 0, 1,    0xee, 1, 2, 0,
					      0, 0, 0, 0,    0, 0, 0x10, 0,    0, 0, 0,
					      0, 0, 1, 0x20, 0, 0, 0,    0,    0, 0 };
	CLEANUP(buf_fini) struct buf b = { 0 };

	akaros_put_sample(&b, 5, 0x201, (uint64_t[]){ 0x1000, 0x2001 }, 2);
	CHECK_INT(b.len, sizeof want);
	CHECK(b.len == sizeof want && memcmp(b.data, want, sizeof want) == 0);
	CHECK(akaros_detect(want, sizeof want));
	CHECK(!akaros_detect(want + 8, sizeof want - 8));
	CHECK(!akaros_detect(want, 8));
}

static void test_periods(void)
{
	enum { N = 20 };
	static const struct {
		uint64_t start[2], step[2]; /* of two cores; step 0: no samples */
		bool is_common;
		int64_t want[2];
	} rows[] = {
		{ { 1000, 1000 }, { 500, 500 }, true, { 500, 500 } },
		{ { 1000, 9000000 }, { 1000, 1020 }, true, { 1000, 1000 } },
		{ { 1000, 1000 }, { 1000, 5000 }, false, { 1000, 5000 } },
		{ { 1000, 1000 }, { 700, 0 }, true, { 700, 700 } },
		{ { 1000, 1000 }, { 0, 0 }, true, { AKAROS_PERIOD_NS, AKAROS_PERIOD_NS } },
		/* a pause between any two samples is no period */
		{ { 1000, 1000 },
		  { 61000000000, 0 },
		  true,
		  { AKAROS_PERIOD_NS, AKAROS_PERIOD_NS } },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(akaros_periods_fini) struct akaros_periods p = { 0 };

		for (uint64_t k = 0; k < N; k++)
			for (uint32_t core = 0; core < 2; core++)
				if (rows[i].step[core])
					CHECK_INT(
						akaros_periods_add(&p, core,
								   rows[i].start[core] +
									   k * rows[i].step[core]),
						0);
		akaros_periods_finish(&p);
		CHECK_INT(p.is_common, rows[i].is_common);
		for (uint32_t core = 0; core < 2; core++)
			CHECK_INT(akaros_periods_get(&p, core), rows[i].want[core]);
	}
}

/* What is written of other profiles. */
static void test_write(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct profile *p = profile_new();
	uint32_t node = profile_push(
		p, 0, profile_add_location(p, &(struct location){ .address = 0x2000 }));
	struct akaros_trace t;
	struct akaros_sample s;
	struct err e = { 0 };

	node = profile_push(p, node, profile_name_location(p, "stage", 5));
	profile_add_type(p, "cpu", "nanoseconds");
	profile_info(p)->period = 10;
	profile_add(p, node, 0, (int64_t[]){ 34 });
	CHECK_INT(akaros_write(p, &out, &e), 0);
	CHECK_STR(e.msg, "");
	t = (struct akaros_trace){ .data = (const unsigned char *)out.data, .len = out.len };
	for (uint64_t k = 1; k <= 3; k++) {
		CHECK(akaros_next(&t, &s));
		CHECK_INT(s.ns, 11 * k); /* 34 / 3 */
		CHECK_INT(s.core, 0);
		CHECK_INT(s.count, 2);
		CHECK_INT(s.pcs[0], 0);        /* only a name */
		CHECK_INT(s.pcs[8 + 1], 0x20); /* 0x2001: behind the call */
		CHECK_INT(s.pcs[8], 1);
	}
	CHECK(!akaros_next(&t, &s));
	profile_add(p, node, 0, (int64_t[]){ -50 });
	CHECK_INT(akaros_write(p, &out, &e), -EINVAL);
	profile_add(p, node, 0, (int64_t[]){ INT64_MAX });
	CHECK_INT(akaros_write(p, &out, &e), -EOVERFLOW);
	profile_free(p);
}

/* A number of a few digits can be gigabytes of records: refused before any is written. */
static void test_large(void)
{
	struct profile *p = profile_new();
	uint32_t node = profile_push(p, 0, profile_name_location(p, "f", 1));
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct err e;

	profile_add_type(p, "samples", "count");
	profile_add(p, node, 0, (int64_t[]){ AKAROS_MAX_BYTES / 24 + 1 });
	CHECK_INT(akaros_write(p, &out, &e), -EOVERFLOW);
	CHECK_STR(e.msg, "more than 256 MiB: each sample is a record of its own");
	CHECK_INT(out.len, 0);
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_bytes);
	TAP_CASE(test_periods);
	TAP_CASE(test_write);
	TAP_CASE(test_large);
	return tap_done();
}
