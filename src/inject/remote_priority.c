/* SPDX-License-Identifier: MIT */
/* On busy CPUs each list of calls would wait milliseconds for a CPU, while the whole job is frozen.
 * Source: sched(7). */
#include <sched.h>

#include "inject/remote_internal.h"
#include "target/proc.h"

#define FIRST 1 /* the lowest priority of SCHED_FIFO: above all threads that are not real-time */

static pid_t caller_tid(const struct remote *r)
{
	return remote_member_at(r, 0)->w.tid;
}

/* Not with a seccomp filter: if we die, it might forbid the call that restores the priority. */
void remote_plan_priority(struct remote *r)
{
	const struct sched_param none = { 0 };
	int policy = sched_getscheduler(caller_tid(r)), kind = policy & ~SCHED_RESET_ON_FORK;

	if (policy < 0 || (kind != SCHED_OTHER && kind != SCHED_BATCH) ||
	    proc_status_number(caller_tid(r), "Seccomp", 10, 1) != 0)
		return;
	r->policy = policy;
	r->priority = remote_put(r, &none, sizeof none);
}

static void set_policy(const struct remote *r, int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (r->priority)
		(void)sched_setscheduler(caller_tid(r), policy, &param);
}

void remote_raise_priority(const struct remote *r)
{
	set_policy(r, SCHED_FIFO | (r->policy & SCHED_RESET_ON_FORK), FIRST);
}

void remote_restore_priority(const struct remote *r)
{
	set_policy(r, r->policy, 0);
}
