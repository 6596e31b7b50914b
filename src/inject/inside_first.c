/* SPDX-License-Identifier: MIT */
/* Where many want the CPUs each list of calls would wait for its turn: milliseconds, while all of
 * the job stands still. Source: sched(7). */
#include <sched.h>

#include "inject/inside_internal.h"
#include "target/proc.h"

#define FIRST 1 /* the least of SCHED_FIFO: before all that is not of real time */

static pid_t first_tid(const struct inside *in)
{
	return inside_member_at(in, 0)->w.tid;
}

/* Not with a filter of system calls: without us the thread might not be let take it back. */
void inside_plan_first(struct inside *in)
{
	const struct sched_param none = { 0 };
	int policy = sched_getscheduler(first_tid(in)), kind = policy & ~SCHED_RESET_ON_FORK;

	if (policy < 0 || (kind != SCHED_OTHER && kind != SCHED_BATCH) ||
	    proc_status_number(first_tid(in), "Seccomp", 10, 1) != 0)
		return;
	in->policy = policy;
	in->priority = inside_put(in, &none, sizeof none);
}

static void set_policy(const struct inside *in, int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (in->priority)
		(void)sched_setscheduler(first_tid(in), policy, &param);
}

void inside_go_first(const struct inside *in)
{
	set_policy(in, SCHED_FIFO | (in->policy & SCHED_RESET_ON_FORK), FIRST);
}

void inside_go_normal(const struct inside *in)
{
	set_policy(in, in->policy, 0);
}
