/* SPDX-License-Identifier: MIT */
#include "sample/duplicates.h"

#include "tap.h"

static bool drop(struct duplicates *d, uint32_t type, uint32_t tid, uint64_t id, uint32_t place)
{
	struct record r = { .type = type, .pid = 5, .tid = tid, .identifier = id };

	return duplicates_drop(d, &r, place);
}

static bool drop_fork(struct duplicates *d, uint32_t parent, uint32_t tid, uint64_t id)
{
	struct record r = { .type = PERF_RECORD_FORK, .identifier = id };

	r.task.ptid = parent;
	r.task.tid = tid;
	return duplicates_drop(d, &r, 9);
}

static void test_first_wins(void)
{
	CLEANUP(duplicates_fini) struct duplicates d = { 0 };

	CHECK(!drop(&d, PERF_RECORD_SAMPLE, 7, 100, 0)); /* inherited */
	CHECK(drop(&d, PERF_RECORD_SAMPLE, 7, 200, 0));  /* its own */
	CHECK(!drop(&d, PERF_RECORD_SAMPLE, 7, 100, 0));
	CHECK(!drop(&d, PERF_RECORD_SAMPLE, 7, 201, 1)); /* of another CPU only its own */
	CHECK(!drop(&d, PERF_RECORD_SAMPLE, 7, 201, 1));
	CHECK(!drop(&d, PERF_RECORD_SAMPLE, 8, 200, 0)); /* another thread */
	CHECK(!drop(&d, PERF_RECORD_SWITCH, 7, 300, 2));
	CHECK(drop(&d, PERF_RECORD_SWITCH, 7, 301, 2));
}

/* A tid is used again: the new thread's events are others. */
static void test_reused(void)
{
	CLEANUP(duplicates_fini) struct duplicates d = { 0 };

	CHECK(!drop(&d, PERF_RECORD_SAMPLE, 7, 100, 0));
	CHECK(!drop_fork(&d, 5, 7, 10));
	CHECK(drop_fork(&d, 5, 7, 11)); /* the second of two events of its parent */
	CHECK(!drop(&d, PERF_RECORD_SAMPLE, 7, 102, 0));
	CHECK(drop(&d, PERF_RECORD_SAMPLE, 7, 100, 0));
	CHECK(drop_fork(&d, 5, 8, 11)); /* not a new thread twice */
	CHECK(!drop_fork(&d, 5, 8, 10));
}

/* What is no one's alone is kept: losses, throttling, names, mappings. */
static void test_others(void)
{
	CLEANUP(duplicates_fini) struct duplicates d = { 0 };

	CHECK(!drop(&d, PERF_RECORD_SAMPLE, 7, 100, 0));
	CHECK(!drop(&d, PERF_RECORD_LOST, 7, 101, 0));
	CHECK(!drop(&d, PERF_RECORD_THROTTLE, 7, 101, 0));
	CHECK(!drop(&d, PERF_RECORD_COMM, 7, 101, 0));
	CHECK(!drop(&d, PERF_RECORD_EXIT, 7, 101, 0));
}

int main(void)
{
	TAP_CASE(test_first_wins);
	TAP_CASE(test_reused);
	TAP_CASE(test_others);
	return tap_done();
}
