/* SPDX-License-Identifier: MIT */
/* Times of values: their bound, and what filters and files keep of them. */
#include "model/sample_times.h"

#include <errno.h>
#include <string.h>

#include "format/pprof/fields.h"
#include "format/pprof/pprof.h"
#include "format/pprof/proto.h"
#include "format/pprof/times.h"
#include "model/filter.h"
#include "tap.h"

#define MS UINT64_C(1000000)

static uint32_t push(struct profile *p, const char *name)
{
	return profile_push(p, 0, profile_name_location(p, name, strlen(name)));
}

static uint32_t label(struct profile *p, const char *value)
{
	struct label l = { .key = profile_str(p, "comm"), .str = profile_str(p, value) };

	return profile_add_labels(p, &l, 1);
}

static void add(struct profile *p, uint64_t time_ns, uint32_t node, uint32_t labels, int64_t value)
{
	struct timed_value v = { .node = node, .labels = labels, .value = value };

	profile_add(p, node, labels, &value);
	CHECK_INT(sample_times_add(profile_times(p), time_ns, &v), 0);
}

static struct profile *make(void)
{
	struct profile *p = profile_new();
	uint32_t f, g, one, two;

	profile_add_type(p, "cpu", "nanoseconds");
	f = push(p, "f");
	g = push(p, "g");
	one = label(p, "one");
	two = label(p, "two");
	add(p, 100 * MS, f, two, 3);
	add(p, 101 * MS, g, one, 10);
	add(p, 101 * MS, f, one, 20);
	add(p, 101 * MS, g, one, 5);
	add(p, 90 * MS, f, one, 1); /* before the first: counts as of then */
	add(p, 104 * MS + 1, f, two, -7);
	sample_times_settle(profile_times(p));
	return p;
}

static int64_t sum(const struct profile *p, const char *comm)
{
	const struct sample_times *t = profile_get_times(p);
	int64_t all = 0;

	for (size_t i = 0; i < t->entries.count; i++) {
		size_t count;
		const struct label *l =
			profile_get_labels(p, sample_times_at(t, i)->labels, &count);

		if (count && strcmp(profile_text(p, l->str), comm) == 0)
			all += sample_times_at(t, i)->value;
	}
	return all;
}

static void test_settles(void)
{
	struct profile *p = make();
	const struct sample_times *t = profile_get_times(p);

	CHECK_INT(t->bucket_ns, MS);
	if (CHECK_INT(t->entries.count, 5)) {
		CHECK_INT(sample_times_at(t, 0)->bucket, 0);
		CHECK_INT(sample_times_at(t, 0)->value, 1);
		CHECK_INT(sample_times_at(t, 2)->value, 15); /* two of g */
		CHECK_INT(sample_times_at(t, 4)->bucket, 4);
	}
	profile_free(p);
}

static void test_filter(void)
{
	const struct label_filter wanted = { "comm", "one" };
	const struct profile_filter by_label = { .labels = &wanted, .label_count = 1 };
	const struct profile_filter by_frame = { .focus = "g" };
	struct profile *p = make(), *kept;
	struct err e;

	if (CHECK_INT(profile_filter(p, &by_label, &kept, &e), 0)) {
		CHECK_INT(sum(kept, "one"), 36);
		CHECK_INT(sum(kept, "two"), 0);
		CHECK_INT(profile_get_times(kept)->bucket_ns, MS);
		profile_free(kept);
	}
	if (CHECK_INT(profile_filter(p, &by_frame, &kept, &e), 0)) {
		CHECK_INT(sum(kept, "one"), 15);
		CHECK_INT(profile_get_times(kept)->entries.count, 1);
		profile_free(kept);
	}
	profile_free(p);
}

/* Each value has a stack of its own: nothing coalesces. */
static void test_bound(void)
{
	const size_t count = SAMPLE_TIMES_MAX_ENTRIES * 3;
	struct sample_times t = { 0 };
	int64_t sums[2] = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		struct timed_value v = { .node = i, .labels = i % 2, .value = 1 + i % 3 };

		sums[i % 2] += v.value;
		if (sample_times_add(&t, i * MS, &v) < 0)
			break;
	}
	sample_times_settle(&t);
	CHECK(t.entries.count <= SAMPLE_TIMES_MAX_ENTRIES);
	CHECK(t.entries.count >= SAMPLE_TIMES_MAX_ENTRIES / 8);
	CHECK(t.is_thinned);
	CHECK(t.bucket_ns > MS);
	for (size_t i = 0; i < t.entries.count; i++)
		sums[sample_times_at(&t, i)->labels] -= sample_times_at(&t, i)->value;
	CHECK_INT(sums[0], 0);
	CHECK_INT(sums[1], 0);
	sample_times_fini(&t);
}

/* Nothing can be merged: each value has labels of its own. */
static void test_gives_up(void)
{
	struct sample_times t = { 0 };

	for (uint32_t i = 0; i < SAMPLE_TIMES_MAX_ENTRIES + 1; i++) {
		struct timed_value v = { .node = 1, .labels = i, .value = 1 };

		if (sample_times_add(&t, i % 4 * MS, &v) < 0)
			break;
	}
	CHECK(t.is_dropped);
	CHECK_INT(t.entries.count, 0);
	sample_times_fini(&t);
}

static void test_large_values(void)
{
	struct sample_times t = { 0 };

	for (uint32_t i = 0; i < 4; i++) {
		struct timed_value v = { .node = i / 2, .value = i % 2 ? INT64_MIN : INT64_MAX };

		CHECK_INT(sample_times_add(&t, i ? UINT64_MAX : 0, &v), 0);
	}
	sample_times_settle(&t);
	CHECK(t.bucket_ns > MS);
	sample_times_fini(&t);
}

static void test_file(void)
{
	CLEANUP(buf_fini) struct buf first = { 0 }, second = { 0 };
	struct profile *p = make(), *again = profile_new();
	struct err e = { 0 };

	profile_times(p)->is_thinned = true;
	CHECK_INT(pprof_write(p, &first, &e), 0);
	CHECK_INT(pprof_read(again, (const unsigned char *)first.data, first.len, &e), 0);
	CHECK_STR(e.msg, "");
	CHECK_INT(profile_get_times(again)->entries.count, 5);
	CHECK_INT(profile_get_times(again)->bucket_ns, MS);
	CHECK(profile_get_times(again)->is_thinned);
	CHECK_INT(sum(again, "one"), 36);
	CHECK_INT(sum(again, "two"), -4);
	CHECK_INT(pprof_write(again, &second, &e), 0);
	CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	profile_free(p);
	profile_free(again);
}

/* Two samples of type 0, and a message of times. */
static void test_refuses(void)
{
	static const struct pprof_sample_id ids[2] = { { 1, 0 }, { 2, 0 } };
	static const struct {
		const char *bytes;
		size_t len;
		const char *reason; /* "": it is read */
	} rows[] = {
#define ROW(bytes, reason)        \
	{                         \
		bytes,            \
		sizeof bytes - 1, \
		reason,           \
	}
		ROW("\x08\x01\x1a\x09\x12\x01\x05\x1a\x01\x01\x22\x01\x02", ""),
		ROW("\x1a\x03\x12\x01\x05", "time line with buckets of 0 ns"),
		ROW("\x08\x01\x1a\x09\x12\x01\x05\x1a\x01\x02\x22\x01\x02",
		    "time line of sample 2 of 2"),
		ROW("\x08\x01\x1a\x02\x08\x01", "time line of sample type 1, which is unknown"),
		ROW("\x08\x01\x1a\x06\x12\x01\x05\x1a\x01\x01", "track is cut off"),
		ROW("\x08\x01\x1a\x0d\x12\x07\xff\xff\xff\xff\x0f\x01\x00\x1a\x02\x00\x00",
		    "track is cut off"),
		ROW("\x08\x01\x1a\x12\x12\x06\xff\xff\xff\xff\x0f\x01\x1a\x02\x00\x00\x22\x04\x00"
		    "\x00\x00\x00",
		    "time line with a bucket out of range"),
		ROW("\x08\x01\x18\x01", "field 3 of a time line has no length"),
		ROW("\x08\x01\x1a", "time line is cut off"),
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union {
			const struct pprof_sample_id *read;
			void *write;
		} data = { .read = ids };
		struct rows samples = { .data = data.write, .count = ARRAY_LEN(ids) };
		struct cursor c = cursor_make(rows[i].bytes, rows[i].len);
		struct profile *p = profile_new();
		struct err e = { 0 };

		profile_add_type(p, "cpu", "nanoseconds");
		CHECK_INT(pprof_times_read(p, &samples, c, &e), *rows[i].reason ? -EINVAL : 0);
		CHECK_STR(e.msg, rows[i].reason);
		profile_free(p);
	}
}

int main(void)
{
	TAP_CASE(test_settles);
	TAP_CASE(test_filter);
	TAP_CASE(test_bound);
	TAP_CASE(test_gives_up);
	TAP_CASE(test_large_values);
	TAP_CASE(test_file);
	TAP_CASE(test_refuses);
	return tap_done();
}
