/* SPDX-License-Identifier: MIT */
#include "relocate/polite.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

#define CHECK_NS (NS_PER_S / 20)
#define MAX_SHARE 4 /* it may wait for one part in so many */

/* The second number of schedstat. */
static bool read_waited(const struct polite *p, uint64_t *ret)
{
	char text[96];
	ssize_t len = pread(p->waits, text, sizeof text - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	return sscanf(text, "%*u %" SCNu64, ret) == 1;
}

/* To come back from SCHED_IDLE takes the same right as a lower nice value. */
static bool can_return(void)
{
	int nice_value = getpriority(PRIO_PROCESS, 0);

	return setpriority(PRIO_PROCESS, 0, nice_value - 1) == 0 &&
	       setpriority(PRIO_PROCESS, 0, nice_value) == 0;
}

static bool set_policy(int policy)
{
	const struct sched_param none = { 0 };

	return sched_setscheduler(0, policy, &none) == 0;
}

void polite_begin(struct polite *p)
{
	*p = (struct polite){ .policy = sched_getscheduler(0),
			      .at_ns = clock_mono_ns(),
			      .waits = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC) };
	p->is_on = (p->policy == SCHED_OTHER || p->policy == SCHED_BATCH) && p->waits >= 0 &&
		   read_waited(p, &p->waited_ns) && can_return() && set_policy(SCHED_IDLE);
}

static void give_up(struct polite *p)
{
	if (p->is_on)
		set_policy(p->policy);
	p->is_on = false;
}

void polite_check(struct polite *p)
{
	int64_t now_ns;
	uint64_t waited_ns;

	if (!p || !p->is_on || (now_ns = clock_mono_ns()) - p->at_ns < CHECK_NS)
		return;
	if (!read_waited(p, &waited_ns) ||
	    waited_ns - p->waited_ns > (uint64_t)(now_ns - p->at_ns) / MAX_SHARE)
		give_up(p);
	p->at_ns = now_ns;
	p->waited_ns = waited_ns;
}

void polite_end(struct polite *p)
{
	give_up(p);
	if (p->waits >= 0)
		close(p->waits);
	p->waits = -1;
}
