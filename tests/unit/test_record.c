/* SPDX-License-Identifier: MIT */
#include "perf/record.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/compat/compat.h"
#include "tap.h"

#define ALL_SAMPLE_BITS ((UINT64_C(1) << 25) - 1)

/* A record of u64 fields that count up from 1, so that each field has a value of its own. */
struct maker {
	struct buf out;
	uint64_t next;
};

static void put_words(struct maker *m, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		buf_put_u64(&m->out, ++m->next);
}

static void start(struct maker *m, uint32_t type, uint16_t misc)
{
	buf_clear(&m->out);
	m->next = 0;
	buf_put_u32(&m->out, type);
	buf_put_u32(&m->out, misc);
}

/* The length into the header; a copy of exactly that size, so that ASan sees reads beyond. */
static unsigned char *finish(struct maker *m, size_t *ret_len)
{
	unsigned char *bytes = malloc(m->out.len);

	m->out.data[6] = (char)(m->out.len & 255);
	m->out.data[7] = (char)(m->out.len >> 8);
	memcpy(bytes, m->out.data, m->out.len);
	*ret_len = m->out.len;
	return bytes;
}

/* No shorter record decodes, and none is read beyond its end. */
static void check_cut(const struct record_shape *shape, const unsigned char *bytes, size_t len,
		      size_t least)
{
	for (size_t n = 0; n < len; n++) {
		unsigned char *cut = malloc(n ? n : 1);
		struct record r;
		struct err e;

		memcpy(cut, bytes, n);
		if (n < least)
			CHECK_INT(record_decode(&r, shape, cut, n, &e), -22);
		else if (record_decode(&r, shape, cut, n, &e) < 0)
			e.code = 0;
		free(cut);
	}
}

static const struct record_shape full_shape = {
	.sample_type = ALL_SAMPLE_BITS,
	.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST |
		       PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX | UINT64_C(1) << 19,
	.regs_user = 0x1c0,
	.regs_intr = 0x3,
	.sample_id_all = true,
};

/* A sample with every field there is, by the order of perf_event_open(2). */
static void put_full_sample(struct maker *m)
{
	put_words(m, 9);         /* identifier, ip, tid, time, addr, id, stream id, cpu, period */
	buf_put_u64(&m->out, 2); /* read: counters in the group */
	put_words(m, 2 + 2 * 3); /* times; value, id, lost */
	buf_put_u64(&m->out, 3); /* chain */
	put_words(m, 3);
	buf_put_u32(&m->out, 4); /* raw: 4 + 4 bytes */
	buf_put_u32(&m->out, 0xdeadbeef);
	buf_put_u64(&m->out, 2);  /* branches */
	put_words(m, 1 + 2 * 3);  /* hardware index, entries */
	put_words(m, 2);          /* counters */
	put_words(m, 1 + 3);      /* user registers: abi, values */
	buf_put_u64(&m->out, 16); /* stack */
	put_words(m, 2);
	buf_put_u64(&m->out, 8); /* of which filled */
	put_words(m, 3);         /* weight, data source, transaction */
	put_words(m, 1 + 2);     /* interrupt's registers */
	put_words(m, 4);         /* physical address, cgroup, page sizes */
	buf_put_u64(&m->out, 8); /* aux */
	put_words(m, 1);
}

static void test_full_sample(void)
{
	struct maker m = { 0 };
	struct record r;
	struct err e;
	unsigned char *bytes;
	uint64_t id;
	size_t len;

	start(&m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_full_sample(&m);
	bytes = finish(&m, &len);
	if (CHECK_INT(record_decode(&r, &full_shape, bytes, len, &e), 0)) {
		const struct record_sample *s = &r.sample;

		CHECK_INT(r.identifier, 1);
		CHECK_INT(s->ip, 2);
		CHECK_INT(r.pid, 3);
		CHECK_INT(r.tid, 0);
		CHECK_INT(r.time, 4);
		CHECK_INT(s->addr, 5);
		CHECK_INT(r.id, 6);
		CHECK_INT(r.stream_id, 7);
		CHECK_INT(r.cpu, 8);
		CHECK_INT(s->period, 9);
		CHECK_INT(s->read.count, 1 + 2 + 6);
		CHECK_INT(s->chain.count, 3);
		CHECK_INT(record_word(s->chain, 0), 18);
		CHECK_INT(s->raw.len, 4);
		CHECK_INT(s->branches.count, 6);
		CHECK_INT(record_word(s->branches, 0), 22);
		CHECK_INT(s->user.abi, 30);
		CHECK_INT(s->user.values.count, 3);
		CHECK_INT(record_word(s->user.values, 2), 33);
		CHECK_INT(s->stack.len, 8);
		CHECK_INT(s->stack.bytes[0], 34);
		CHECK_INT(s->weight, 36);
		CHECK_INT(s->transaction, 38);
		CHECK_INT(s->intr.abi, 39);
		CHECK_INT(s->phys_addr, 42);
		CHECK_INT(s->code_page_bytes, 45);
		CHECK_INT(s->aux.len, 8);
	}
	CHECK_INT(record_peek_time(&full_shape, bytes, len), 4);
	CHECK(record_peek_id(&full_shape, bytes, len, &id) && id == 1);
	check_cut(&full_shape, bytes, len, len);
	free(bytes);
	buf_fini(&m.out);
}

/* Every subset of two bits: fields move up when others are not there. */
static void test_pairs_of_bits(void)
{
	struct maker m = { 0 };

	for (unsigned a = 0; a < 25; a++) {
		for (unsigned b = a; b < 25; b++) {
			struct record_shape shape = { .sample_type =
							      UINT64_C(1) << a | UINT64_C(1) << b };
			struct record r;
			struct err e;
			unsigned char *bytes;
			size_t len;

			start(&m, PERF_RECORD_SAMPLE, 0);
			for (int i = 0; i < 8; i++)
				buf_put_u64(&m.out, 0);
			bytes = finish(&m, &len);
			CHECK_INT(record_decode(&r, &shape, bytes, len, &e), 0);
			free(bytes);
		}
	}
	buf_fini(&m.out);
}

/* Lengths inside of a record that are larger than it. */
static void test_hostile_counts(void)
{
	static const uint64_t bits[] = { PERF_SAMPLE_READ,       PERF_SAMPLE_CALLCHAIN,
					 PERF_SAMPLE_RAW,        PERF_SAMPLE_BRANCH_STACK,
					 PERF_SAMPLE_STACK_USER, PERF_SAMPLE_AUX };
	static const uint64_t counts[] = { 100, UINT64_MAX, UINT64_MAX / 8,
					   (UINT64_C(1) << 61) + 100 };
	struct maker m = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
		for (size_t j = 0; j < ARRAY_LEN(counts); j++) {
			struct record_shape shape = { .sample_type = bits[i],
						      .read_format = PERF_FORMAT_GROUP };
			struct record r;
			struct err e;
			unsigned char *bytes;
			size_t len;

			start(&m, PERF_RECORD_SAMPLE, 0);
			buf_put_u64(&m.out, counts[j]);
			buf_put_u64(&m.out, 0);
			bytes = finish(&m, &len);
			CHECK_INT(record_decode(&r, &shape, bytes, len, &e), -22);
			free(bytes);
		}
	}
	buf_fini(&m.out);
}

/* A time and raw data only, which have a way of their own. */
static void test_bare_sample(void)
{
	const struct record_shape shape = { .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW };
	struct maker m = { 0 };
	struct record r;
	struct err e;
	unsigned char *bytes;
	size_t len;

	start(&m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	buf_put_u64(&m.out, 77);
	buf_put_u32(&m.out, 12);
	buf_put(&m.out, "twelve bytes", 12);
	bytes = finish(&m, &len);
	if (CHECK_INT(record_decode(&r, &shape, bytes, len, &e), 0)) {
		CHECK_INT(r.type, PERF_RECORD_SAMPLE);
		CHECK_INT(r.misc, PERF_RECORD_MISC_KERNEL);
		CHECK_INT(r.has, PERF_SAMPLE_TIME);
		CHECK_INT(r.time, 77);
		CHECK_INT(r.sample.raw.len, 12);
		CHECK_INT(memcmp(r.sample.raw.bytes, "twelve bytes", 12), 0);
		CHECK(!r.sample.chain.bytes);
	}
	CHECK_INT(record_peek_time(&shape, bytes, len), 77);
	CHECK_INT(record_peek_time(&shape, bytes, 12), 0);
	check_cut(&shape, bytes, len, len);
	bytes[16] = 13;
	CHECK_INT(record_decode(&r, &shape, bytes, len, &e), -22);
	free(bytes);
	buf_fini(&m.out);
}

static const struct record_shape side_shape = {
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
		       PERF_SAMPLE_IDENTIFIER,
	.sample_id_all = true,
};

/* tid, time, cpu, identifier */
static void put_trailer(struct maker *m)
{
	buf_put_u32(&m->out, 70);
	buf_put_u32(&m->out, 71);
	buf_put_u64(&m->out, 1234);
	buf_put_u32(&m->out, 5);
	buf_put_u32(&m->out, 0);
	buf_put_u64(&m->out, 99);
}

static void put_mmap2(struct maker *m, bool has_build_id)
{
	start(m, PERF_RECORD_MMAP2,
	      has_build_id ? PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID
			   : PERF_RECORD_MISC_USER);
	buf_put_u32(&m->out, 10);
	buf_put_u32(&m->out, 11);
	buf_put_u64(&m->out, 0x400000);
	buf_put_u64(&m->out, 0x1000);
	buf_put_u64(&m->out, 0x2000);
	if (has_build_id) {
		buf_put(&m->out, "\x04\0\0\0\xaa\xbb\xcc\xdd", 8);
		buf_put(&m->out, (char[16]){ 0 }, 16);
	} else {
		buf_put_u32(&m->out, 8);
		buf_put_u32(&m->out, 1);
		put_words(m, 2);
	}
	buf_put_u32(&m->out, 5);
	buf_put_u32(&m->out, 2);
	buf_put(&m->out, "/bin/a\0", 8);
	put_trailer(m);
}

static void test_mmap2(void)
{
	for (int has_build_id = 0; has_build_id < 2; has_build_id++) {
		struct maker m = { 0 };
		struct record r;
		struct err e;
		unsigned char *bytes;
		uint64_t id;
		size_t len;

		put_mmap2(&m, has_build_id);
		bytes = finish(&m, &len);
		if (CHECK_INT(record_decode(&r, &side_shape, bytes, len, &e), 0)) {
			CHECK_INT(r.mmap.start, 0x400000);
			CHECK_INT(r.mmap.len, 0x1000);
			CHECK_INT(r.mmap.offset, 0x2000);
			CHECK_INT(r.mmap.prot, 5);
			CHECK_INT(r.mmap.path.len, 6);
			CHECK_INT(memcmp(r.mmap.path.bytes, "/bin/a", 6), 0);
			CHECK_INT(r.mmap.build_id_len, has_build_id ? 4 : 0);
			CHECK_INT(r.mmap.has_inode, !has_build_id);
			CHECK_INT(r.mmap.ino, has_build_id ? 0 : 1);
			CHECK_INT(r.time, 1234);
			CHECK_INT(r.tid, 71);
			CHECK_INT(r.cpu, 5);
			CHECK_INT(r.identifier, 99);
		}
		CHECK_INT(record_peek_time(&side_shape, bytes, len), 1234);
		CHECK(record_peek_id(&side_shape, bytes, len, &id) && id == 99);
		check_cut(&side_shape, bytes, len, 64);
		free(bytes);
		buf_fini(&m.out);
	}
}

/* The bit that promises a build id may be a leftover of another event's record. */
static void test_leftover_of_build_id(void)
{
	static const struct {
		uint32_t major, minor;
		uint64_t ino, generation;
		size_t len; /* of the build id */
	} rows[] = {
		{ 254, 0, 0xb140e9, 0xe22c5f2f, 0 },
		{ 8, 1, 1234, 0, 0 },
		{ 8, 0xfffff, 1234, 5, 0 },
		{ 0, 25, 77, 0, 0 },
		{ 9, 0x12345678, 0x9abcdef0, 1, 0 },
		{ 8, 0x12345678, 0x9abcdef0, 0, 8 },
		{ 20, 5, 0x123456789abcdef0, 0x12345, 20 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct maker m = { 0 };
		struct record r;
		struct err e;
		unsigned char *bytes;
		size_t len;

		start(&m, PERF_RECORD_MMAP2,
		      PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
		put_words(&m, 4);
		buf_put_u32(&m.out, rows[i].major);
		buf_put_u32(&m.out, rows[i].minor);
		buf_put_u64(&m.out, rows[i].ino);
		buf_put_u64(&m.out, rows[i].generation);
		put_words(&m, 1);
		buf_put(&m.out, "/bin/a\0", 8);
		put_trailer(&m);
		bytes = finish(&m, &len);
		if (CHECK_INT(record_decode(&r, &side_shape, bytes, len, &e), 0)) {
			CHECK_INT(r.mmap.build_id_len, rows[i].len);
			CHECK_INT(r.mmap.has_inode, rows[i].len == 0);
			CHECK_INT(r.mmap.ino, rows[i].len ? 0 : rows[i].ino);
		}
		free(bytes);
		buf_fini(&m.out);
	}
}

static void test_other_types(void)
{
	static const uint32_t types[] = {
		PERF_RECORD_MMAP,         PERF_RECORD_LOST,      PERF_RECORD_COMM,
		PERF_RECORD_EXIT,         PERF_RECORD_THROTTLE,  PERF_RECORD_UNTHROTTLE,
		PERF_RECORD_FORK,         PERF_RECORD_READ,      PERF_RECORD_AUX,
		PERF_RECORD_LOST_SAMPLES, PERF_RECORD_SWITCH,    PERF_RECORD_SWITCH_CPU_WIDE,
		PERF_RECORD_NAMESPACES,   PERF_RECORD_KSYMBOL,   PERF_RECORD_BPF_EVENT,
		PERF_RECORD_CGROUP,       PERF_RECORD_TEXT_POKE, 77,
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct maker m = { 0 };
		struct record r;
		struct err e;
		unsigned char *bytes;
		size_t len;

		start(&m, types[i], 0);
		put_words(&m, 2);
		buf_put_u64(&m.out, types[i] == PERF_RECORD_NAMESPACES ? 1 : 0x41);
		put_words(&m, 3);
		put_trailer(&m);
		bytes = finish(&m, &len);
		if (types[i] == PERF_RECORD_NAMESPACES) {
			/* pid and tid are one word, the number of pairs is the next */
			bytes[16] = 2;
		}
		CHECK_INT(record_decode(&r, &side_shape, bytes, len, &e), 0);
		CHECK_INT(r.type, types[i]);
		CHECK_INT(r.time, 1234);
		check_cut(&side_shape, bytes, len, 8);
		free(bytes);
		buf_fini(&m.out);
	}
}

static void test_fields(void)
{
	struct maker m = { 0 };
	struct record_shape plain = { 0 };
	struct record r;
	struct err e;
	unsigned char *bytes;
	size_t len;

	start(&m, PERF_RECORD_FORK, 0);
	for (uint32_t i = 1; i <= 4; i++)
		buf_put_u32(&m.out, i);
	buf_put_u64(&m.out, 5);
	bytes = finish(&m, &len);
	if (CHECK_INT(record_decode(&r, &plain, bytes, len, &e), 0)) {
		CHECK_INT(r.task.pid, 1);
		CHECK_INT(r.task.ppid, 2);
		CHECK_INT(r.task.tid, 3);
		CHECK_INT(r.task.ptid, 4);
		CHECK_INT(r.task.time, 5);
	}
	free(bytes);
	start(&m, PERF_RECORD_LOST, 0);
	put_words(&m, 2);
	bytes = finish(&m, &len);
	if (CHECK_INT(record_decode(&r, &plain, bytes, len, &e), 0)) {
		CHECK_INT(r.lost.id, 1);
		CHECK_INT(r.lost.count, 2);
	}
	free(bytes);
	/* A path without its end. */
	start(&m, PERF_RECORD_COMM, 0);
	buf_put_u64(&m.out, 1);
	buf_put(&m.out, "abcdefgh", 8);
	bytes = finish(&m, &len);
	CHECK_INT(record_decode(&r, &plain, bytes, len, &e), -22);
	free(bytes);
	buf_fini(&m.out);
}

static void test_len(void)
{
	static const unsigned char eight[16] = { 1, 0, 0, 0, 0, 0, 8, 0 };
	static const unsigned char four[8] = { 1, 0, 0, 0, 0, 0, 4, 0 };

	CHECK_INT(record_len(eight, 16), 8);
	CHECK_INT(record_len(eight, 8), 8);
	CHECK_INT(record_len(eight, 7), 0);
	CHECK_INT(record_len(four, 8), 0);
	CHECK_INT(record_type(eight), 1);
}

int main(void)
{
	TAP_CASE(test_full_sample);
	TAP_CASE(test_pairs_of_bits);
	TAP_CASE(test_hostile_counts);
	TAP_CASE(test_bare_sample);
	TAP_CASE(test_mmap2);
	TAP_CASE(test_leftover_of_build_id);
	TAP_CASE(test_other_types);
	TAP_CASE(test_fields);
	TAP_CASE(test_len);
	return tap_done();
}
