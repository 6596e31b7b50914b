/* SPDX-License-Identifier: MIT */
#include "relocate/copy/copy_thread.h"

#include <sched.h>

static void *run(void *self)
{
	struct copy_thread *b = self;

	(void)!b->work(b->copy, &b->e);
	return NULL;
}

/* The whole frozen job waits for this thread, so it starts with real-time priority: on busy CPUs it
 * would otherwise wait for a CPU just to ask for it. False: not allowed. */
static bool start_first(struct copy_thread *b)
{
	const struct sched_param first = { .sched_priority = 1 };
	pthread_attr_t attr;
	bool is_started;

	if (pthread_attr_init(&attr) != 0)
		return false;
	is_started = pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED) == 0 &&
		     pthread_attr_setschedpolicy(&attr, SCHED_FIFO) == 0 &&
		     pthread_attr_setschedparam(&attr, &first) == 0 &&
		     pthread_create(&b->thread, &attr, run, b) == 0;
	pthread_attr_destroy(&attr);
	return is_started;
}

void copy_thread_start(struct copy_thread *b, int (*work)(struct copy *copy, struct err *e),
		       struct copy *copy)
{
	*b = (struct copy_thread){ .work = work, .copy = copy };
	b->is_running = start_first(b) || pthread_create(&b->thread, NULL, run, b) == 0;
}

int copy_thread_join(struct copy_thread *b, struct err *e)
{
	if (!b->is_running)
		return b->work(b->copy, e);
	pthread_join(b->thread, NULL);
	b->is_running = false;
	return b->e.code ? err_set(e, b->e.code, "%s", b->e.msg) : 0;
}
