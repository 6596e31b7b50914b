/* SPDX-License-Identifier: MIT */
#include "perf/offcpu.h"

const char *const offcpu_state_names[OFFCPU_STATES] = {
	[OFFCPU_UNKNOWN] = "unknown",   [OFFCPU_SLEEPING] = "sleeping",
	[OFFCPU_BLOCKED] = "blocked",   [OFFCPU_IOWAIT] = "iowait",
	[OFFCPU_STOPPED] = "stopped",   [OFFCPU_PREEMPTED] = "preempted",
	[OFFCPU_RUNNABLE] = "runnable",
};

enum offcpu_state offcpu_state_of(int64_t prev_state)
{
	if (prev_state & 1)
		return OFFCPU_SLEEPING;
	if (prev_state & 2)
		return OFFCPU_BLOCKED;
	if (prev_state & (4 | 8))
		return OFFCPU_STOPPED;
	if (prev_state & 0x80) /* a thread of the kernel that has nothing to do */
		return OFFCPU_SLEEPING;
	if (prev_state & (0x10 | 0x20))
		return OFFCPU_DEAD;
	return prev_state & 0xff ? OFFCPU_UNKNOWN : OFFCPU_PREEMPTED;
}

static uint64_t since(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* As far as is known, it was on a CPU since it was seen there last. */
static void run_until(struct offcpu *o, uint64_t time_ns)
{
	uint64_t ran_ns = o->last_ran_ns ? since(o->last_ran_ns, time_ns) : 0;

	if (__builtin_add_overflow(o->unsampled_ns, (int64_t)(ran_ns & INT64_MAX),
				   &o->unsampled_ns))
		o->unsampled_ns = 0;
	o->last_ran_ns = time_ns;
}

/* The wait from left_ns to time_ns is over; nothing but last_ran_ns stays. */
static bool finish(struct offcpu *o, uint64_t time_ns, bool is_lost, struct offcpu_wait *ret)
{
	bool is_woken =
		o->woken_ns > o->left_ns && o->woken_ns < time_ns && o->state != OFFCPU_PREEMPTED;
	uint64_t until = is_woken ? o->woken_ns : time_ns;

	*ret = (struct offcpu_wait){
		.before = *o,
		.waited_ns = since(o->left_ns, until),
		.runnable_ns = since(until, time_ns),
		.is_lost = is_lost,
	};
	*o = (struct offcpu){ .last_ran_ns = time_ns, .unsampled_ns = o->unsampled_ns };
	return true;
}

bool offcpu_began_before(const struct offcpu_wait *wait)
{
	return wait->before.signals & OFFCPU_INITIAL || (!wait->before.signals && !wait->is_lost);
}

bool offcpu_leave(struct offcpu *o, enum offcpu_signal signal, uint64_t time_ns,
		  enum offcpu_state state, struct offcpu_wait *ret)
{
	bool is_over = false;

	if (o->signals & OFFCPU_INITIAL) /* wrongly: it was running */
		*o = (struct offcpu){ .last_ran_ns = o->left_ns };
	if (o->left_ns && o->signals & (signal | OFFCPU_NEW))
		is_over = finish(o, time_ns, true, ret);
	if (!o->left_ns) {
		run_until(o, time_ns);
		o->left_ns = time_ns;
	}
	o->signals |= (uint8_t)signal;
	if (o->state == OFFCPU_UNKNOWN)
		o->state = (uint8_t)state;
	return is_over;
}

void offcpu_wake(struct offcpu *o, uint64_t time_ns)
{
	if (o->left_ns && !o->woken_ns)
		o->woken_ns = time_ns;
}

bool offcpu_return(struct offcpu *o, uint64_t time_ns, uint64_t start_ns, struct offcpu_wait *ret)
{
	bool is_lost = false;

	if (!o->left_ns) {
		is_lost = o->last_ran_ns != 0;
		o->left_ns = o->last_ran_ns ? o->last_ran_ns : start_ns;
	}
	if (o->left_ns)
		return finish(o, time_ns, is_lost, ret);
	o->last_ran_ns = time_ns;
	return false;
}

bool offcpu_running(struct offcpu *o, uint64_t time_ns, uint64_t ran_ns, struct offcpu_wait *ret)
{
	if (o->signals & OFFCPU_INITIAL)
		*o = (struct offcpu){ .last_ran_ns = o->left_ns };
	o->unsampled_ns -= ran_ns < INT64_MAX ? (int64_t)ran_ns : 0;
	if (o->left_ns)
		return finish(o, time_ns, true, ret);
	run_until(o, time_ns);
	return false;
}

bool offcpu_end(struct offcpu *o, uint64_t time_ns, struct offcpu_wait *ret)
{
	if (o->left_ns)
		return finish(o, time_ns, false, ret);
	run_until(o, time_ns);
	return false;
}

bool offcpu_flush(struct offcpu *o, struct offcpu_wait *ret)
{
	int64_t rest_ns = o->unsampled_ns;

	o->unsampled_ns = 0;
	*ret = (struct offcpu_wait){ .waited_ns = (uint64_t)rest_ns, .is_lost = true };
	return rest_ns > 0;
}
