/* SPDX-License-Identifier: MIT */
#include "relocate/flush.h"

#include <sched.h>
#include <string.h>

/* What it is for waits as all of the job does, so it goes first, too; if that is not allowed, not.
 */
static void *run(void *self)
{
	const struct sched_param first = { .sched_priority = 1 };
	struct flush *f = self;

	(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
	(void)!copy_flush(f->copy, &f->e);
	return NULL;
}

void flush_start(struct flush *f, struct copy *copy)
{
	memset(f, 0, sizeof *f);
	f->copy = copy;
	f->is_running = pthread_create(&f->thread, NULL, run, f) == 0;
}

int flush_end(struct flush *f, struct err *e)
{
	if (!f->is_running)
		return copy_flush(f->copy, e);
	pthread_join(f->thread, NULL);
	f->is_running = false;
	return f->e.code ? err_set(e, f->e.code, "%s", f->e.msg) : 0;
}
