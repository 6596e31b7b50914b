/* SPDX-License-Identifier: MIT */
#include "stage/counters.h"

#include "stage/ticks.h"
#include "tap.h"

#define AWAY 1000000000 /* ticks */

static int64_t now(void)
{
	return (int64_t)ticks();
}

/* Without a page of the kernel's. */
static struct counters plain_counters(void)
{
	struct counters m;
	struct counter_files files = { -1, -1, 0, 4 };
	struct counter_plan plan = { .clock_read_ticks = AWAY };

	counters_start(&m, &files, &plan);
	counters_stop(&m);
	return m;
}

/* A begin has the time at which the CPU time was read. */
static void test_begin(void)
{
	struct counters m = plain_counters();
	int64_t at[COST_COUNT] = { [COST_WALL] = now() - 3 * (int64_t)AWAY };
	int64_t before = now();

	counters_read_thread(&m, at, true);
	CHECK(at[COST_WALL] >= before && at[COST_WALL] <= now());
	CHECK_INT(at[COST_WAIT_TICKS], at[COST_WALL]);
}

/* An end has its time. What the thread waited after that is not the stage's. */
static void test_end(void)
{
	struct counters m = plain_counters();
	int64_t at[COST_COUNT] = { [COST_WALL] = now() };
	int64_t wall = at[COST_WALL];

	m.clock_read_ticks = UINT64_MAX;
	counters_read_thread(&m, at, false);
	CHECK_INT(at[COST_WALL], wall);
	CHECK(at[COST_WAIT_TICKS] >= wall && at[COST_WAIT_TICKS] <= now());
	at[COST_WALL] = wall = now() - 3 * (int64_t)AWAY;
	m.clock_read_ticks = AWAY;
	counters_read_thread(&m, at, false);
	CHECK_INT(at[COST_WALL], wall);
	CHECK_INT(at[COST_WAIT_TICKS], wall);
}

/* The page tells that the thread was switched out since the base was read, but not now. */
static void test_page(void)
{
	static struct perf_event_mmap_page page = { .lock = 4 };
	struct counters m = plain_counters();
	int64_t at[COST_COUNT] = { [COST_WALL] = now() };
	int64_t base;

	m.page = &page;
	m.lock = 2;
	counters_read_thread(&m, at, false);
	CHECK_INT(m.lock, 4);
	base = (int64_t)m.base_at;
	CHECK_INT(at[COST_WAIT_TICKS], base);
	at[COST_WALL] = now();
	counters_read_thread(&m, at, false);
	CHECK_INT(at[COST_WAIT_TICKS], base);
}

int main(void)
{
	ticks_start();
	TAP_CASE(test_begin);
	TAP_CASE(test_end);
	TAP_CASE(test_page);
	return tap_done();
}
