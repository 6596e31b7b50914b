/* SPDX-License-Identifier: MIT */
#include "format/pprof/journal.h"

#include <errno.h>
#include <zlib.h>

#include "format/pprof/fields.h"
#include "format/pprof/pprof.h"
#include "tap.h"

#define STEPS 5

/* A profile that grows, its journal, and what both are after each step. */
struct growth {
	struct profile *p;
	struct pprof_journal journal;
	struct buf spool;
	struct buf want[STEPS];
	size_t end[STEPS]; /* of the spool, after a step */
};

static uint32_t put_stack(struct profile *p, uint32_t mapping, unsigned depth, unsigned seed)
{
	uint32_t node = 0;

	for (unsigned i = 0; i < depth; i++) {
		struct location l = { .mapping = mapping, .address = 0x1000 + seed % 7 + i };

		node = profile_push(p, node, profile_add_location(p, &l));
	}
	return profile_push(p, node, profile_name_location(p, "leaf", 4));
}

/* One second of a recording: stacks of before, and new ones. */
static void sample(struct profile *p, unsigned step)
{
	struct mapping m = { .start = 0x1000, .limit = 0x9000, .path = profile_str(p, "/bin/x") };
	struct label labels[] = {
		{ .key = profile_str(p, "pid"), .num = 42 },
		{ .key = profile_str(p, "comm"), .str = profile_str(p, step % 2 ? "a" : "b\n") },
	};
	const int64_t values[] = { 1 + step, 1000000 * (int64_t)step };
	uint32_t mapping, set = profile_add_labels(p, labels, 2);

	m.offset = step / 2;
	mapping = profile_add_mapping(p, &m);
	for (unsigned i = 0; i < 4; i++)
		profile_add(p, put_stack(p, mapping, 1 + i, i + step), set, values);
	profile_add(p, put_stack(p, mapping, 2, 0), 0, values);
	profile_info(p)->duration_ns = step;
}

static void write_profile(const struct profile *p, struct buf *ret)
{
	struct err e = { 0 };

	CHECK_INT(pprof_write(p, ret, &e), 0);
}

static struct growth grow(void)
{
	struct growth g = { .p = profile_new() };
	struct err e = { 0 };

	profile_add_type(g.p, "samples", "count");
	profile_add_type(g.p, "cpu", "nanoseconds");
	profile_add_comment(g.p, "command: x");
	profile_info(g.p)->time_ns = 7;
	profile_info(g.p)->period_type.type = profile_str(g.p, "cpu");
	for (unsigned i = 0; i < STEPS; i++) {
		sample(g.p, i);
		if (i == STEPS - 1)
			profile_add_comment(g.p, "samples: 25");
		CHECK_INT(pprof_journal_put(&g.journal, g.p, &g.spool, &e), 0);
		g.end[i] = g.spool.len;
		write_profile(g.p, &g.want[i]);
	}
	CHECK_INT(profile_error(g.p), 0);
	return g;
}

static void growth_fini(struct growth *g)
{
	profile_free(g->p);
	pprof_journal_fini(&g->journal);
	buf_fini(&g->spool);
	for (unsigned i = 0; i < STEPS; i++)
		buf_fini(&g->want[i]);
}

/* The profile that bytes are, as a file; false: they are none. */
static bool read_back(const char *bytes, size_t len, struct buf *ret, struct err *e)
{
	struct profile *p = profile_new();
	int rc = pprof_read(p, (const unsigned char *)bytes, len, e);

	buf_clear(ret);
	if (rc == 0)
		write_profile(p, ret);
	profile_free(p);
	return rc == 0;
}

static bool is_equal(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static void test_grows(void)
{
	struct growth g = grow();
	struct buf got = { 0 };
	struct err e = { 0 };

	for (size_t len = 8; len <= g.spool.len; len++)
		CHECK(pprof_detect((const unsigned char *)g.spool.data, len));
	for (unsigned i = 0; i < STEPS; i++)
		if (CHECK(read_back(g.spool.data, g.end[i], &got, &e)))
			CHECK(is_equal(&got, &g.want[i]));
	CHECK_STR(e.msg, "");
	buf_fini(&got);
	growth_fini(&g);
}

static void test_nothing_new_is_nothing(void)
{
	struct growth g = grow();
	struct err e = { 0 };

	CHECK_INT(pprof_journal_put(&g.journal, g.p, &g.spool, &e), 0);
	CHECK_INT(g.spool.len, g.end[STEPS - 1]);
	growth_fini(&g);
}

/* Cut anywhere it is what it was when its last whole record was written. */
static void test_cut(void)
{
	struct growth g = grow();
	struct buf got = { 0 };
	unsigned step = 0;

	for (size_t len = g.end[0]; len <= g.spool.len; len++) {
		struct err e = { 0 };

		if (step + 1 < STEPS && len == g.end[step + 1])
			step++;
		if (!CHECK(read_back(g.spool.data, len, &got, &e)) ||
		    !CHECK(is_equal(&got, &g.want[step])))
			break;
	}
	for (size_t len = 0; len < g.end[0]; len++) {
		struct err e = { 0 };

		if (!CHECK(!read_back(g.spool.data, len, &got, &e)) || !CHECK(*e.msg))
			break;
	}
	buf_fini(&got);
	growth_fini(&g);
}

/* A byte that changed is never read as something else. */
static void test_damaged(void)
{
	struct growth g = grow();
	struct buf got = { 0 };

	for (size_t at = 0; at < g.spool.len; at++) {
		unsigned step = 0;
		struct err e = { 0 };
		bool is_whole;

		g.spool.data[at] ^= 0x11;
		is_whole = read_back(g.spool.data, g.spool.len, &got, &e);
		g.spool.data[at] ^= 0x11;
		while (at >= g.end[step])
			step++;
		if (!CHECK(step ? is_whole && is_equal(&got, &g.want[step - 1]) : !is_whole))
			break;
	}
	buf_fini(&got);
	growth_fini(&g);
}

/* A journal that begins late has all. */
static void test_begun_anew(void)
{
	struct growth g = grow();
	struct buf spool = { 0 }, got = { 0 };
	struct pprof_journal journal = { 0 };
	struct err e = { 0 };

	CHECK_INT(pprof_journal_put(&journal, g.p, &spool, &e), 0);
	CHECK(spool.len < g.spool.len);
	if (CHECK(read_back(spool.data, spool.len, &got, &e)))
		CHECK(is_equal(&got, &g.want[STEPS - 1]));
	pprof_journal_fini(&journal);
	buf_fini(&spool);
	buf_fini(&got);
	growth_fini(&g);
}

/* Rows with a right checksum and a wrong reference, behind a good journal. */
static void test_refused(void)
{
	static const struct {
		uint32_t field;
		const char *bytes;
		const char *reason;
	} rows[] = {
		{ JOURNAL_NODES, "\x7f\x01", "has no parent" },
		{ JOURNAL_NODES, "\x01\x7f", "unknown location id 127" },
		{ JOURNAL_NODES, "\x01", "node is cut off" },
		{ JOURNAL_LABEL_SET, "\x1a\x02\x08\x7f", "string index 127" },
		{ JOURNAL_SAMPLES, "\x7f\x01", "unknown node 127" },
		{ JOURNAL_SAMPLES, "\x01\x7f", "unknown label set 127" },
		{ JOURNAL_VALUES, "\x7f\x01\x01", "unknown sample 127" },
		{ JOURNAL_VALUES, "\x01\x01", "value is cut off" },
		{ PROFILE_MAPPING, "\x08\x01", "a second mapping with the id 1" },
		{ PROFILE_SAMPLE_TYPE, "\x08\x01\x10\x01", NULL },
	};
	struct growth g = grow();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf body = { 0 }, record = { 0 }, spool = { 0 }, got = { 0 };
		struct err e = { 0 };

		proto_put_bytes(&body, rows[i].field, rows[i].bytes, strlen(rows[i].bytes));
		buf_put_u32(&record,
			    (uint32_t)crc32(0, (const Bytef *)body.data, (unsigned)body.len));
		buf_put(&record, body.data, body.len);
		buf_put(&spool, g.spool.data, g.spool.len);
		proto_put_bytes(&spool, PROFILE_JOURNAL, record.data, record.len);
		CHECK(!read_back(spool.data, spool.len, &got, &e));
		if (rows[i].reason && !CHECK(strstr(e.msg, rows[i].reason)))
			fprintf(stderr, "%s\n", e.msg);
		buf_fini(&body);
		buf_fini(&record);
		buf_fini(&spool);
		buf_fini(&got);
	}
	growth_fini(&g);
}

int main(void)
{
	TAP_CASE(test_grows);
	TAP_CASE(test_nothing_new_is_nothing);
	TAP_CASE(test_cut);
	TAP_CASE(test_damaged);
	TAP_CASE(test_begun_anew);
	TAP_CASE(test_refused);
	return tap_done();
}
