/* SPDX-License-Identifier: MIT */
/* On busy CPUs each call would wait milliseconds for a CPU, while the whole job is frozen. Source:
 * sched(7). */
#include <sched.h>

#include "inject/remote_thread.h"
#include "target/proc.h"

#define FIRST 1 /* the lowest priority of SCHED_FIFO: above all threads that are not real-time */

static bool is_raised_from(int policy)
{
	int kind = policy & ~SCHED_RESET_ON_FORK;

	return policy >= 0 && (kind == SCHED_OTHER || kind == SCHED_BATCH || kind == SCHED_IDLE);
}

/* Not with a seccomp filter: if we die, it might forbid the call that restores the priority. */
void remote_plan_priority(struct remote_thread *w)
{
	int policy = sched_getscheduler(w->tid);

	if (is_raised_from(policy) && proc_status_number(w->tid, "Seccomp", 10, 1) == 0)
		w->resume.policy = policy;
}

static void set_policy(const struct remote_thread *w, int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (w->resume.policy >= 0)
		(void)sched_setscheduler(w->tid, policy, &param);
}

void remote_raise_priority(const struct remote_thread *w)
{
	set_policy(w, SCHED_FIFO | (w->resume.policy & SCHED_RESET_ON_FORK), FIRST);
}

void remote_restore_priority(const struct remote_thread *w)
{
	set_policy(w, w->resume.policy, 0);
}

/* policy is of the memory of the process: it may lower, and nothing else. */
void remote_drop_priority(pid_t tid, int policy)
{
	const struct sched_param none = { 0 };

	if (is_raised_from(policy) &&
	    (sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO)
		(void)sched_setscheduler(tid, policy, &none);
}
