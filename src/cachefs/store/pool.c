/* SPDX-License-Identifier: MIT */
#include "cachefs/store/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/compat.h"

#define STACK_BYTES (256 * 1024)

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t wake, ended;
	struct fifo high, low; /* by priority; this and all below: under lock */
	unsigned queued, idle, threads, max_threads;
	bool closing;
};

/* The thread that started this one may be pinned to one CPU. */
static void unpin_from_cpu(void)
{
	cpu_set_t cpus;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* the main thread handles them */
	if (sched_getaffinity(getpid(), sizeof cpus, &cpus) == 0)
		sched_setaffinity(0, sizeof cpus, &cpus);
}

static void *work(void *arg)
{
	struct pool *p = arg;

	unpin_from_cpu();
	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct job *job = (struct job *)fifo_take(&p->high);

		if (!job)
			job = (struct job *)fifo_take(&p->low);
		if (!job && p->closing)
			break;
		if (!job) {
			p->idle++;
			pthread_cond_wait(&p->wake, &p->lock);
			p->idle--;
			continue;
		}
		p->queued--;
		pthread_mutex_unlock(&p->lock);
		job->run(job);
		pthread_mutex_lock(&p->lock);
	}
	p->threads--;
	pthread_cond_signal(&p->ended);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct pool *pool_new(unsigned max_threads)
{
	struct pool *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	compat_cond_init(&p->ended);
	p->max_threads = max_threads;
	return p;
}

bool pool_stop(struct pool *p, int64_t timeout_ns)
{
	int64_t until_ns = clock_mono_ns() + timeout_ns;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };
	bool ended;

	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_broadcast(&p->wake);
	while (p->threads && pthread_cond_timedwait(&p->ended, &p->lock, &until) == 0)
		;
	ended = p->threads == 0;
	pthread_mutex_unlock(&p->lock);
	if (!ended)
		return false;
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	pthread_cond_destroy(&p->ended);
	free(p);
	return true;
}

/* Under lock. */
static void add_thread(struct pool *p)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) != 0)
		return;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&thread, &attr, work, p) == 0)
		p->threads++;
	pthread_attr_destroy(&attr);
}

int pool_submit(struct pool *p, struct job *job, bool high_priority)
{
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	if (p->idle <= p->queued && p->threads < p->max_threads)
		add_thread(p);
	if (p->threads) {
		fifo_put(high_priority ? &p->high : &p->low, &job->link);
		p->queued++;
		pthread_cond_signal(&p->wake);
	} else {
		rc = -EAGAIN;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}
