/* SPDX-License-Identifier: MIT */
#include "relocate/urgent.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void set_oom_score(const char *text, size_t len)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, len);
	close(fd);
}

void urgent_begin(struct urgent *u)
{
	const struct sched_param first = { .sched_priority = 1 };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &u->mask);
	u->policy = sched_getscheduler(0);
	if (sched_getparam(0, &u->param) < 0 ||
	    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) < 0)
		u->policy = -1;
	set_oom_score("-1000", 5);
	(void)mlockall(MCL_CURRENT | MCL_FUTURE);
}

void urgent_end(struct urgent *u)
{
	(void)munlockall();
	set_oom_score("0", 1);
	if (u->policy >= 0)
		(void)sched_setscheduler(0, u->policy, &u->param);
	sigprocmask(SIG_SETMASK, &u->mask, NULL);
}
