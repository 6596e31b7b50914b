/* SPDX-License-Identifier: MIT */
#include "cachefs/memory/server_clocks.h"

#include "tap.h"

#define START (1000 * NS_PER_S) /* CLOCK_MONOTONIC is 0 then */

static struct server_now after(int64_t s)
{
	return (struct server_now){ s * NS_PER_S, START + s * NS_PER_S };
}

static void note(struct server_clocks *c, dev_t device, int64_t ctime_s, int64_t now_s)
{
	struct stat st = { .st_dev = device, .st_ctim = { .tv_sec = ctime_s } };

	server_clocks_note(c, &st, after(now_s));
}

static int64_t at(struct server_clocks *c, dev_t device, int64_t s)
{
	return server_clocks_at(c, device, after(s)) / NS_PER_S;
}

static void test_bounds(void)
{
	struct server_clocks c = { .lock = PTHREAD_MUTEX_INITIALIZER };

	CHECK_INT(at(&c, 1, 10), 1010 - 600);
	note(&c, 1, 900, 10); /* a file of 110 s ago, or a clock that is so far behind */
	CHECK_INT(at(&c, 1, 10), 900);
	CHECK_INT(at(&c, 1, 20), 910);
	CHECK_INT(at(&c, 2, 10), 1010 - 600);
	note(&c, 1, 800, 11); /* an older file */
	CHECK_INT(at(&c, 1, 20), 910);
	note(&c, 1, 2000, 11); /* ahead of ours: no evidence */
	CHECK_INT(at(&c, 1, 20), 910);
	note(&c, 1, 1011, 11);
	CHECK_INT(at(&c, 1, 20), 1020);
	note(&c, 2, 5, 11); /* what is old shows nothing */
	CHECK_INT(at(&c, 2, 20), 1020 - 600);
}

static void test_many_devices(void)
{
	struct server_clocks c = { .lock = PTHREAD_MUTEX_INITIALIZER };

	for (dev_t device = 1; device <= 2 * SERVER_CLOCKS; device++)
		note(&c, device, 1000, 0);
	CHECK_INT(at(&c, 1, 0), 400);
	CHECK_INT(at(&c, 2 * SERVER_CLOCKS, 0), 1000);
}

static void test_odd_ctimes(void)
{
	struct server_clocks c = { .lock = PTHREAD_MUTEX_INITIALIZER };

	note(&c, 1, INT64_MAX, 1);
	note(&c, 1, INT64_MIN, 1);
	CHECK_INT(at(&c, 1, 1), 1001 - 600);
}

int main(void)
{
	TAP_CASE(test_bounds);
	TAP_CASE(test_many_devices);
	TAP_CASE(test_odd_ctimes);
	return tap_done();
}
