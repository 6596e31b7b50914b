/* SPDX-License-Identifier: MIT */
#include "perf/offcpu.h"

#include <string.h>

#include "tap.h"

/* A step of a thread's life, and the wait that it ends. */
struct step {
	char what; /* L leave, D deep, O out, N new, F found, W wake, R return, S seen for 10, E
		      end, X rest */
	uint64_t at;
	enum offcpu_state state;
	bool is_over, is_lost;
	uint64_t waited, runnable;
};

static bool take(struct offcpu *o, const struct step *s, struct offcpu_wait *ret)
{
	switch (s->what) {
	case 'L':
		return offcpu_leave(o, OFFCPU_EACH, s->at, s->state, ret);
	case 'D':
		return offcpu_leave(o, OFFCPU_DEEP, s->at, OFFCPU_UNKNOWN, ret);
	case 'O':
		return offcpu_leave(o, OFFCPU_OUT, s->at, s->state, ret);
	case 'N':
		return offcpu_leave(o, OFFCPU_NEW, s->at, OFFCPU_RUNNABLE, ret);
	case 'F':
		return offcpu_leave(o, OFFCPU_INITIAL, s->at, s->state, ret);
	case 'W':
		offcpu_wake(o, s->at);
		return false;
	case 'R':
		return offcpu_return(o, s->at, s->waited == 77 ? s->at - 77 : 0, ret);
	case 'X':
		return offcpu_flush(o, ret);
	case 'S':
		return offcpu_running(o, s->at, 10, ret);
	default:
		return offcpu_end(o, s->at, ret);
	}
}

static void follow(const struct step *steps, size_t count)
{
	struct offcpu o = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct offcpu_wait wait = { 0 };
		bool is_over = take(&o, &steps[i], &wait);

		CHECK_INT(is_over, steps[i].is_over);
		CHECK_INT(wait.is_lost, steps[i].is_lost);
		CHECK_INT(wait.waited_ns, steps[i].waited);
		CHECK_INT(wait.runnable_ns, steps[i].runnable);
		if (is_over && strchr("RSE", steps[i].what))
			CHECK_INT(wait.before.state, steps[i].state);
	}
}
#define FOLLOW(...)                                                 \
	do {                                                        \
		static const struct step steps[] = { __VA_ARGS__ }; \
		follow(steps, ARRAY_LEN(steps));                    \
	} while (0)

static void test_whole(void)
{
	FOLLOW({ 'L', 100, OFFCPU_SLEEPING, 0, 0, 0, 0 }, { 'D', 101, 0, 0, 0, 0, 0 },
	       { 'O', 102, 0, 0, 0, 0, 0 }, { 'R', 150, OFFCPU_SLEEPING, 1, 0, 50, 0 },
	       { 'D', 200, 0, 0, 0, 0, 0 }, { 'L', 201, OFFCPU_BLOCKED, 0, 0, 0, 0 },
	       { 'O', 201, 0, 0, 0, 0, 0 }, { 'R', 300, OFFCPU_BLOCKED, 1, 0, 100, 0 });
}

static void test_wakes(void)
{
	FOLLOW({ 'W', 90, 0, 0, 0, 0, 0 }, { 'L', 100, OFFCPU_SLEEPING, 0, 0, 0, 0 },
	       { 'W', 130, 0, 0, 0, 0, 0 }, { 'W', 140, 0, 0, 0, 0, 0 },
	       { 'R', 150, OFFCPU_SLEEPING, 1, 0, 30, 20 },
	       { 'L', 200, OFFCPU_PREEMPTED, 0, 0, 0, 0 }, { 'W', 210, 0, 0, 0, 0, 0 },
	       { 'R', 250, OFFCPU_PREEMPTED, 1, 0, 50, 0 });
}

/* The state is that of the record alone when the sample is lost. */
static void test_lost_sample(void)
{
	FOLLOW({ 'O', 100, OFFCPU_PREEMPTED, 0, 0, 0, 0 },
	       { 'R', 150, OFFCPU_PREEMPTED, 1, 0, 50, 0 }, { 'O', 200, 0, 0, 0, 0, 0 },
	       { 'R', 300, OFFCPU_UNKNOWN, 1, 0, 100, 0 });
}

/* It was back before it left again, or was seen to run. */
static void test_lost_return(void)
{
	FOLLOW({ 'L', 100, OFFCPU_SLEEPING, 0, 0, 0, 0 }, { 'O', 101, 0, 0, 0, 0, 0 },
	       { 'L', 200, OFFCPU_BLOCKED, 1, 1, 100, 0 },
	       { 'R', 230, OFFCPU_BLOCKED, 1, 0, 30, 0 }, { 'L', 300, OFFCPU_SLEEPING, 0, 0, 0, 0 },
	       { 'S', 340, OFFCPU_SLEEPING, 1, 1, 40, 0 }, { 'S', 350, 0, 0, 0, 0, 0 },
	       { 'O', 400, 0, 0, 0, 0, 0 }, { 'O', 500, 0, 1, 1, 100, 0 });
}

/* It left some time after it was seen last; or waited since the recording began. */
static void test_lost_leave(void)
{
	FOLLOW({ 'R', 100, 0, 0, 0, 0, 0 }, { 'S', 120, 0, 0, 0, 0, 0 },
	       { 'R', 150, OFFCPU_UNKNOWN, 1, 1, 30, 0 });
	FOLLOW({ 'R', 1000, OFFCPU_UNKNOWN, 1, 0, 77, 0 });
}

static void test_ends(void)
{
	FOLLOW({ 'E', 50, 0, 0, 0, 0, 0 }, { 'L', 100, OFFCPU_SLEEPING, 0, 0, 0, 0 },
	       { 'W', 110, 0, 0, 0, 0, 0 }, { 'E', 160, OFFCPU_SLEEPING, 1, 0, 10, 50 },
	       { 'E', 170, 0, 0, 0, 0, 0 });
}

/* What it ran, and was not sampled doing, it waited. */
static void test_rest(void)
{
	FOLLOW({ 'R', 100, 0, 0, 0, 0, 0 }, { 'S', 110, 0, 0, 0, 0, 0 },
	       { 'S', 120, 0, 0, 0, 0, 0 }, { 'L', 150, OFFCPU_SLEEPING, 0, 0, 0, 0 },
	       { 'R', 200, OFFCPU_SLEEPING, 1, 0, 50, 0 }, { 'S', 210, 0, 0, 0, 0, 0 },
	       { 'E', 260, 0, 0, 0, 0, 0 }, { 'X', 260, 0, 1, 1, 80, 0 },
	       { 'X', 260, 0, 0, 1, 0, 0 });
}

static void test_new(void)
{
	FOLLOW({ 'N', 100, 0, 0, 0, 0, 0 }, { 'R', 130, OFFCPU_RUNNABLE, 1, 0, 30, 0 });
	FOLLOW({ 'N', 100, 0, 0, 0, 0, 0 },
	       { 'L', 130, OFFCPU_SLEEPING, 1, 1, 30, 0 }); /* back unseen */
}

/* What was found waiting was running if it leaves. */
static void test_found(void)
{
	FOLLOW({ 'F', 100, OFFCPU_SLEEPING, 0, 0, 0, 0 },
	       { 'R', 180, OFFCPU_SLEEPING, 1, 0, 80, 0 });
	FOLLOW({ 'F', 100, OFFCPU_SLEEPING, 0, 0, 0, 0 }, { 'L', 150, OFFCPU_BLOCKED, 0, 0, 0, 0 },
	       { 'R', 160, OFFCPU_BLOCKED, 1, 0, 10, 0 });
	FOLLOW({ 'F', 100, OFFCPU_SLEEPING, 0, 0, 0, 0 }, { 'S', 150, 0, 0, 0, 0, 0 },
	       { 'E', 160, 0, 0, 0, 0, 0 });
}

static void test_time_goes_back(void)
{
	FOLLOW({ 'L', 100, OFFCPU_SLEEPING, 0, 0, 0, 0 }, { 'R', 90, OFFCPU_SLEEPING, 1, 0, 0, 0 },
	       { 'L', 100, OFFCPU_SLEEPING, 0, 0, 0, 0 }, { 'W', 120, 0, 0, 0, 0, 0 },
	       { 'R', 110, OFFCPU_SLEEPING, 1, 0, 10, 0 });
}

static void test_states(void)
{
	static const struct {
		int64_t raw;
		enum offcpu_state want;
	} rows[] = { { 0, OFFCPU_PREEMPTED }, { 0x100, OFFCPU_PREEMPTED },
		     { 1, OFFCPU_SLEEPING },  { 0x2001, OFFCPU_SLEEPING },
		     { 2, OFFCPU_BLOCKED },   { 4, OFFCPU_STOPPED },
		     { 8, OFFCPU_STOPPED },   { 0x80, OFFCPU_SLEEPING },
		     { 0x10, OFFCPU_DEAD } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(offcpu_state_of(rows[i].raw), rows[i].want);
}

int main(void)
{
	TAP_CASE(test_whole);
	TAP_CASE(test_wakes);
	TAP_CASE(test_lost_sample);
	TAP_CASE(test_lost_return);
	TAP_CASE(test_lost_leave);
	TAP_CASE(test_ends);
	TAP_CASE(test_rest);
	TAP_CASE(test_new);
	TAP_CASE(test_found);
	TAP_CASE(test_time_goes_back);
	TAP_CASE(test_states);
	return tap_done();
}
