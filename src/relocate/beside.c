/* SPDX-License-Identifier: MIT */
#include "relocate/beside.h"

#include <sched.h>

/* What it is for waits as all of the job does, so it goes first, too; if that is not allowed, not.
 */
static void *run(void *self)
{
	const struct sched_param first = { .sched_priority = 1 };
	struct beside *b = self;

	(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
	(void)!b->work(b->copy, &b->e);
	return NULL;
}

void beside_start(struct beside *b, int (*work)(struct copy *copy, struct err *e),
		  struct copy *copy)
{
	*b = (struct beside){ .work = work, .copy = copy };
	b->is_running = pthread_create(&b->thread, NULL, run, b) == 0;
}

int beside_end(struct beside *b, struct err *e)
{
	if (!b->is_running)
		return b->work(b->copy, e);
	pthread_join(b->thread, NULL);
	b->is_running = false;
	return b->e.code ? err_set(e, b->e.code, "%s", b->e.msg) : 0;
}
