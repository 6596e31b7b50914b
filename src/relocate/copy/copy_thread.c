/* SPDX-License-Identifier: MIT */
#include "relocate/copy/copy_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

struct copy_thread {
	int (*work)(void *self, struct err *e);
	void *self;
	struct err e;
	pthread_t thread;
	bool is_running; /* false: the join does the work */
};

static void *run(void *self)
{
	struct copy_thread *b = self;

	(void)!b->work(b->self, &b->e);
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

struct copy_thread *copy_thread_start(int (*work)(void *self, struct err *e), void *self)
{
	struct copy_thread *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	b->work = work;
	b->self = self;
	b->is_running = start_first(b) || pthread_create(&b->thread, NULL, run, b) == 0;
	return b;
}

/* pthread_clockjoin_np needs glibc 2.31. */
static bool join_until(struct copy_thread *b, int64_t until_ns)
{
	int64_t wall_ns = clock_wall_ns() + until_ns - clock_mono_ns();
	struct timespec until = { .tv_sec = wall_ns / NS_PER_S, .tv_nsec = wall_ns % NS_PER_S };

	return pthread_timedjoin_np(b->thread, NULL, &until) == 0;
}

int copy_thread_join(struct copy_thread *b, int64_t until_ns, bool *ret_hangs, struct err *e)
{
	struct err result;

	*ret_hangs = false;
	if (!b)
		return err_nomem(e);
	if (!b->is_running) {
		(void)!b->work(b->self, &b->e);
	} else if (!join_until(b, until_ns)) {
		*ret_hangs = true;
		return err_set(e, -ETIME, "storage does not answer");
	}
	result = b->e;
	free(b);
	return result.code ? err_set(e, result.code, "%s", result.msg) : 0;
}
