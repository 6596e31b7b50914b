/* SPDX-License-Identifier: MIT */
#include "format/thread_rows.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "tap.h"

#define MS UINT64_C(1000000)

static uint32_t add_thread(struct profile *p, int64_t pid, int64_t cpu)
{
	const struct label labels[] = { { .key = profile_str(p, "pid"), .num = pid },
					{ .key = profile_str(p, "comm"),
					  .str = profile_str(p, "x") },
					{ .key = profile_str(p, "cpu"), .num = cpu } };

	return profile_add_labels(p, labels, 3);
}

static uint32_t add_stack(struct profile *p, const char *name)
{
	return profile_push(p, 0, profile_name_location(p, name, strlen(name)));
}

static struct profile *make_profile(void)
{
	struct profile *p = profile_new();

	if (p)
		profile_add_type(p, "cpu", "nanoseconds");
	return p;
}

static void add_time(struct profile *p, uint64_t time_ns, uint32_t node, uint32_t labels,
		     int64_t value)
{
	const struct timed_value v = { .node = node, .labels = labels, .value = value };

	CHECK_INT(sample_times_add(profile_times(p), time_ns, &v), 0);
}

/* Checks the rows of a thread against text: "TIME_MS:NODE=VALUE ", no time: "-". */
static void check_rows(const struct thread_rows *t, size_t i, const char *want)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	const struct thread *thread = thread_rows_thread(t, i);

	for (size_t k = 0; k < thread->count; k++) {
		const struct thread_row *row = thread_rows_at(t, thread, k);

		if (row->is_timed)
			buf_put_uint(&got, row->time_ns / MS);
		else
			buf_put_str(&got, "-");
		buf_printf(&got, ":%u=%lld ", row->node, (long long)row->value);
	}
	buf_put_byte(&got, 0);
	CHECK_STR(got.data, want);
}

static void test_without_times(void)
{
	CLEANUP(thread_rows_fini) struct thread_rows t = { 0 };
	struct profile *p = make_profile();
	uint32_t a = add_stack(p, "a"), b = add_stack(p, "b");
	uint32_t one = add_thread(p, 1, 0), two = add_thread(p, 2, 0), moved = add_thread(p, 1, 1);
	struct err e = { 0 };

	profile_add(p, b, one, &(int64_t){ 5 });
	profile_add(p, a, two, &(int64_t){ 7 });
	profile_add(p, a, moved, &(int64_t){ 9 });
	profile_add(p, b, two, &(int64_t){ -1 });
	CHECK_INT(thread_rows_make(&t, p, 0, &e), 0);
	CHECK_INT(t.threads.count, 2);
	check_rows(&t, 0, "-:2=5 -:1=9 ");
	check_rows(&t, 1, "-:1=7 ");
	CHECK_STR(thread_rows_text(&t, thread_rows_thread(&t, 1)->pid), "2");
	CHECK_STR(thread_rows_text(&t, thread_rows_thread(&t, 1)->tid), "0");
	CHECK_STR(thread_rows_text(&t, thread_rows_thread(&t, 1)->comm), "x");
	CHECK_INT(thread_rows_length(&t, p), 0);
	profile_info(p)->duration_ns = 100;
	CHECK_INT(thread_rows_length(&t, p), 100);
	profile_free(p);
}

/* Threads have all label sets that name them; what has no time comes first. */
static void test_with_times(void)
{
	CLEANUP(thread_rows_fini) struct thread_rows t = { 0 };
	struct profile *p = make_profile();
	uint32_t a = add_stack(p, "a"), b = add_stack(p, "b");
	uint32_t one = add_thread(p, 1, 0), moved = add_thread(p, 1, 1);
	struct err e = { 0 };

	profile_add(p, a, one, &(int64_t){ 10 });
	profile_add(p, b, moved, &(int64_t){ 3 });
	add_time(p, 50 * MS, a, one, 4);
	add_time(p, 60 * MS, b, moved, 3);
	add_time(p, 70 * MS, a, one, 4);
	add_time(p, 70 * MS, b, one, 4); /* no such sample */
	sample_times_settle(profile_times(p));
	CHECK_INT(thread_rows_make(&t, p, 0, &e), 0);
	CHECK_INT(t.threads.count, 1);
	check_rows(&t, 0, "-:1=2 0:1=4 10:2=3 20:1=4 ");
	CHECK_INT(thread_rows_length(&t, p), 21 * MS);
	profile_info(p)->duration_ns = 20 * MS; /* a lie */
	CHECK_INT(thread_rows_length(&t, p), 21 * MS);
	profile_info(p)->duration_ns = 20 * MS + 1;
	CHECK_INT(thread_rows_length(&t, p), 20 * MS + 1);
	profile_free(p);
}

/* The stacks of thinned times are others, but their sum is right; else the times are not used. */
static void test_thinned(void)
{
	for (int64_t value = 6; value < 8; value++) {
		CLEANUP(thread_rows_fini) struct thread_rows t = { 0 };
		struct profile *p = make_profile();
		uint32_t a = add_stack(p, "a"), b = add_stack(p, "b"), one = add_thread(p, 1, 0);
		struct err e = { 0 };

		profile_add(p, a, one, &(int64_t){ 2 });
		profile_add(p, b, one, &(int64_t){ 4 });
		add_time(p, 0, b, one, value);
		CHECK_INT(thread_rows_make(&t, p, 0, &e), 0);
		check_rows(&t, 0, value == 6 ? "0:2=6 " : "-:1=2 -:2=4 ");
		profile_free(p);
	}
}

/* Times that no recording has. */
static void test_odd_times(void)
{
	static const struct {
		uint64_t bucket_ns;
		int64_t value;
	} rows[] = { { UINT64_C(1) << 62, 1 }, { UINT64_MAX, 1 }, { 1, -1 }, { 1, 0 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(thread_rows_fini) struct thread_rows t = { 0 };
		struct profile *p = make_profile();
		uint32_t a = add_stack(p, "a"), one = add_thread(p, 1, 0);
		struct err e = { 0 };

		profile_add(p, a, one, &(int64_t){ 5 });
		add_time(p, 0, a, one, 1);
		add_time(p, 5 * MS, a, one, rows[i].value);
		profile_times(p)->bucket_ns = rows[i].bucket_ns;
		CHECK_INT(thread_rows_make(&t, p, 0, &e), 0);
		check_rows(&t, 0, "-:1=5 ");
		profile_free(p);
	}
}

int main(void)
{
	TAP_CASE(test_without_times);
	TAP_CASE(test_with_times);
	TAP_CASE(test_thinned);
	TAP_CASE(test_odd_times);
	return tap_done();
}
