/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/metrics.h"

#include <errno.h>
#include <pthread.h>

#include "cachefs/store/path_counts.h"
#include "tap.h"

#define CALLS 1000

static void one(struct metrics *m, enum metrics_op op, int rc, int64_t waited_ns, uint64_t bytes)
{
	struct metrics_call call = metrics_begin(op);
	int64_t ns;

	if (waited_ns)
		call.wait_ns = waited_ns;
	metrics_end(m, &call, rc, bytes, &ns);
	CHECK(ns >= 0);
}

static void test_results(void)
{
	struct metrics *m = metrics_new();
	struct metrics_counts c;

	one(m, METRICS_READ, 0, 0, 10);
	one(m, METRICS_READ, 0, 5, 20);
	one(m, METRICS_READ, -EIO, 5, 0);
	one(m, METRICS_READ, 0, 0, 0); /* the wait is not the next one's */
	one(m, METRICS_OPEN, 0, 0, 0);
	metrics_read(m, METRICS_READ, &c);
	CHECK_INT(c.sums[METRICS_CALLS], 4);
	CHECK_INT(c.sums[METRICS_HITS], 2);
	CHECK_INT(c.sums[METRICS_MISSES], 1);
	CHECK_INT(c.sums[METRICS_NEGATIVES], 1);
	CHECK_INT(c.sums[METRICS_STORAGE_NS], 10);
	CHECK_INT(c.sums[METRICS_BYTES], 30);
	metrics_read(m, METRICS_OPEN, &c);
	CHECK_INT(c.sums[METRICS_CALLS], 1);
	CHECK_INT(c.sums[METRICS_HITS], 0);
	metrics_free(m);
}

static void *count_many(void *metrics)
{
	for (int i = 0; i < CALLS; i++)
		one(metrics, METRICS_GETATTR, i % 2 ? -ENOENT : 0, 0, 0);
	return NULL;
}

/* Threads come and go: nothing is lost, and a new one goes on where an old one ended. */
static void test_threads(void)
{
	struct metrics *m = metrics_new();
	struct metrics_counts c;
	pthread_t threads[4];

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_LEN(threads); i++)
			pthread_create(&threads[i], NULL, count_many, m);
		metrics_read(m, METRICS_GETATTR, &c);
		CHECK(c.sums[METRICS_CALLS] <= (unsigned)(round + 1) * 4 * CALLS);
		for (size_t i = 0; i < ARRAY_LEN(threads); i++)
			pthread_join(threads[i], NULL);
	}
	metrics_read(m, METRICS_GETATTR, &c);
	CHECK_INT(c.sums[METRICS_CALLS], 12 * CALLS);
	CHECK_INT(c.sums[METRICS_NEGATIVES], 6 * CALLS);
	metrics_free(m);
}

static void test_reset(void)
{
	struct metrics *m = metrics_new();
	struct metrics_counts c;

	one(m, METRICS_GETATTR, 0, 0, 100);
	metrics_reset(m, METRICS_CALLS);
	one(m, METRICS_READ, 0, 1000, 0);
	metrics_reset(m, METRICS_NS);
	one(m, METRICS_GETATTR, 0, 0, 3);
	metrics_read(m, METRICS_READ, &c);
	CHECK_INT(c.sums[METRICS_STORAGE_NS], 0); /* no more than METRICS_NS */
	metrics_read(m, METRICS_GETATTR, &c);
	CHECK_INT(c.sums[METRICS_CALLS], 1);
	CHECK_INT(c.sums[METRICS_BYTES], 3);
	CHECK_INT(c.sums[METRICS_HITS], 2); /* not reset */
	CHECK(metrics_quantile(&c, 1) <= (int64_t)c.max_ns);
	metrics_free(m);
}

static void test_buckets(void)
{
	for (size_t i = 1; i < METRICS_BUCKETS; i++) {
		int64_t from = metrics_bucket_ns(i), before = metrics_bucket_ns(i - 1);

		if (!CHECK(from > before) || !CHECK(i <= 8 || (from - before) * 8 <= before))
			return;
	}
	CHECK_INT(metrics_bucket_ns(METRICS_BUCKETS), INT64_C(1) << 40);
}

static void test_quantile(void)
{
	struct metrics_counts c = { .max_ns = 800000 };

	CHECK_INT(metrics_quantile(&c, 0.5), 0);
	c.buckets[8] = 90;  /* 8 ns */
	c.buckets[100] = 9; /* 45056 to 49151 ns */
	c.buckets[140] = 1;
	CHECK_INT(metrics_quantile(&c, 0.5), 8);
	CHECK_INT(metrics_quantile(&c, 0.9), 8);
	CHECK_INT(metrics_quantile(&c, 0.95), metrics_bucket_ns(101) - 1);
	CHECK_INT(metrics_quantile(&c, 1), 800000);
}

static void test_paths(void)
{
	_Atomic(struct path_counts *) at = NULL, up = NULL;
	struct path_counts *c, *gone, read;

	CHECK(path_counts_make(&at));
	c = at;
	CHECK(!path_counts_make(&at) && at == c);
	path_counts_add(c, PATH_METADATA, RESULT_NEGATIVE, 100, 0);
	path_counts_add(c, PATH_DATA, RESULT_HIT, 50, 4096);
	path_counts_add(c, PATH_DATA, RESULT_NONE, 50, 4096); /* not counted */
	CHECK_INT(path_counts_events(c, PATH_DATA), 1);
	CHECK_INT(path_counts_events(c, PATH_TREE), 0);
	CHECK(path_counts_make(&up));
	gone = up;
	path_counts_merge(gone, c);
	path_counts_merge(gone, c);
	path_counts_read(gone, &read);
	CHECK_INT(read.paths, 2);
	CHECK_INT(read.bytes[RESULT_HIT], 8192);
	CHECK_INT(read.ns[PATH_METADATA][RESULT_NEGATIVE], 200);
	path_counts_reset(gone, PATH_DATA);
	CHECK_INT(path_counts_events(gone, PATH_DATA), 0);
	CHECK_INT(path_counts_events(gone, PATH_METADATA), 2);
	path_counts_free(c);
	path_counts_free(gone);
}

int main(void)
{
	TAP_CASE(test_results);
	TAP_CASE(test_threads);
	TAP_CASE(test_reset);
	TAP_CASE(test_buckets);
	TAP_CASE(test_quantile);
	TAP_CASE(test_paths);
	return tap_done();
}
