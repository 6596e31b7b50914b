/* SPDX-License-Identifier: MIT */
#include "cachefs/store/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/log.h"

#define STACK_BYTES (256 * 1024) /* a path and buffers; there may be hundreds of threads */
#define LANES 64         /* file systems with a queue of their own; further ones share the first */
#define THREADS_FACTOR 8 /* threads in all, in units of max_threads */

/* The queue of one file system. */
struct lane {
	dev_t device;
	struct fifo high, low; /* by priority */
	unsigned queued;
	unsigned active;  /* jobs that run, without those that hang */
	unsigned hanging; /* jobs that hang */
};

/* A job that runs, on the stack of its thread. */
struct running {
	struct running *before, *after; /* by start */
	struct lane *lane;
	int64_t start_ns;
	bool is_local; /* not in the list */
	bool hangs;    /* in the list no more */
};

struct thread {
	struct thread *next; /* in the list of those that have ended */
	struct pool *pool;
	pthread_t id;
};

struct pool {
	int64_t timeout_ns;
	unsigned max_threads;
	pthread_mutex_t lock;
	pthread_cond_t wake, end;
	struct lane lanes[LANES];      /* [count]; this and all below: under lock */
	unsigned count, next;          /* next: the lane to serve */
	struct running *first, *last;  /* by start; NULL: none */
	unsigned threads, idle, woken; /* woken: idle threads that were called for a job */
	struct thread *ended;          /* to be joined */
	unsigned queued, hanging;      /* of all lanes */
	bool closing;
};

/* Under lock, as are all functions up to work(). */
static struct lane *lane_of(struct pool *p, dev_t device)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->lanes[i].device == device)
			return &p->lanes[i];
	if (p->count == LANES)
		return &p->lanes[0];
	p->lanes[p->count].device = device;
	return &p->lanes[p->count++];
}

static bool is_closed(const struct pool *p, const struct lane *l)
{
	return l->hanging >= p->max_threads;
}

static bool may_start(const struct pool *p, const struct lane *l)
{
	return l->queued && (p->closing || (!is_closed(p, l) && l->active < p->max_threads));
}

static struct job *take_from(struct pool *p, struct lane *l, struct fifo *queue)
{
	struct job *job = (struct job *)fifo_take(queue);

	if (!job)
		return NULL;
	l->queued--;
	p->queued--;
	job->is_refused = p->closing;
	return job;
}

/* The lanes take turns, first with jobs of high priority. NULL: no job may start. */
static struct job *take_job(struct pool *p, struct lane **ret)
{
	for (unsigned i = 0; i < 2 * p->count; i++) {
		struct lane *l = &p->lanes[(p->next + i) % p->count];
		struct job *job = NULL;

		if (may_start(p, l))
			job = take_from(p, l, i < p->count ? &l->high : &l->low);
		if (!job)
			continue;
		p->next = (unsigned)(l - p->lanes) + 1;
		*ret = l;
		return job;
	}
	return NULL;
}

static void begin_running(struct pool *p, struct running *r, const struct job *job)
{
	r->lane->active++;
	r->is_local = job->is_local;
	if (r->is_local)
		return;
	r->start_ns = clock_mono_ns();
	r->before = p->last;
	r->after = NULL;
	*(p->last ? &p->last->after : &p->first) = r;
	p->last = r;
}

static void remove_running(struct pool *p, struct running *r)
{
	*(r->before ? &r->before->after : &p->first) = r->after;
	*(r->after ? &r->after->before : &p->last) = r->before;
}

static void end_running(struct pool *p, struct running *r)
{
	if (r->hangs) {
		r->lane->hanging--;
		p->hanging--;
		return;
	}
	if (!r->is_local)
		remove_running(p, r);
	r->lane->active--;
}

/* False: so many threads are idle that this one ends. */
static bool wait_for_job(struct pool *p)
{
	if (p->idle >= p->max_threads)
		return false;
	p->idle++;
	while (!p->woken && !p->closing)
		pthread_cond_wait(&p->wake, &p->lock);
	p->idle--;
	p->woken -= p->woken > 0;
	return true;
}

static void *work(void *arg)
{
	struct thread *self = arg;
	struct pool *p = self->pool;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* the main thread handles them */
	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct running running = { .hangs = false };
		struct job *job = take_job(p, &running.lane);

		if (!job && (p->closing || !wait_for_job(p)))
			break;
		if (!job)
			continue;
		begin_running(p, &running, job);
		pthread_mutex_unlock(&p->lock);
		job->run(job);
		pthread_mutex_lock(&p->lock);
		end_running(p, &running);
	}
	p->threads--;
	self->next = p->ended;
	p->ended = self;
	pthread_cond_signal(&p->end);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Joins the threads that have ended: they may still run destructors of thread-specific data. */
static void join_ended(struct pool *p)
{
	struct thread *ended;

	pthread_mutex_lock(&p->lock);
	ended = p->ended;
	p->ended = NULL;
	pthread_mutex_unlock(&p->lock);
	for (struct thread *t = ended, *next; t; t = next) {
		next = t->next;
		pthread_join(t->id, NULL);
		free(t);
	}
}

/* Under lock. */
static void add_thread(struct pool *p)
{
	struct thread *t = calloc(1, sizeof *t);
	pthread_attr_t attr;

	if (!t || pthread_attr_init(&attr) != 0) {
		free(t);
		return;
	}
	t->pool = p;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&t->id, &attr, work, t) == 0)
		p->threads++;
	else
		free(t);
	pthread_attr_destroy(&attr);
}

/* Under lock. */
static void call_thread(struct pool *p)
{
	if (p->idle > p->woken) {
		p->woken++;
		pthread_cond_signal(&p->wake);
	} else if (p->threads < THREADS_FACTOR * p->max_threads) {
		add_thread(p);
	}
}

struct pool *pool_new(unsigned max_threads, int64_t timeout_ns)
{
	struct pool *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	compat_cond_init(&p->end);
	p->max_threads = max_threads;
	p->timeout_ns = timeout_ns;
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
	while (p->threads && pthread_cond_timedwait(&p->end, &p->lock, &until) == 0)
		;
	ended = p->threads == 0;
	pthread_mutex_unlock(&p->lock);
	if (!ended)
		return false;
	join_ended(p);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	pthread_cond_destroy(&p->end);
	free(p);
	return true;
}

int pool_submit(struct pool *p, struct job *job, dev_t device, bool high_priority)
{
	struct lane *l;
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	l = lane_of(p, device);
	if (is_closed(p, l)) {
		rc = -EIO;
	} else {
		if (l->active + l->queued < p->max_threads)
			call_thread(p);
		rc = p->threads ? 0 : -EAGAIN;
	}
	if (rc == 0) {
		fifo_put(high_priority ? &l->high : &l->low, &job->link);
		l->queued++;
		p->queued++;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* Under lock. Takes the jobs of a queue that is closed. */
static void refuse_all(struct pool *p, struct lane *l, struct fifo *refused)
{
	struct job *job;

	while ((job = take_from(p, l, &l->high)) || (job = take_from(p, l, &l->low))) {
		job->is_refused = true;
		fifo_put(refused, &job->link);
	}
}

static void log_closed(bool is_closed, unsigned calls)
{
	if (is_closed)
		log_msg(LOG_WARN, "cache",
			"storage: %u calls hang; further ones to that file system fail until they return",
			calls);
}

int64_t pool_check(struct pool *p, int64_t now_ns)
{
	struct fifo refused = { 0 };
	bool has_closed = false;
	struct job *job;
	int64_t next_ns;

	pthread_mutex_lock(&p->lock);
	while (p->first && now_ns - p->first->start_ns >= p->timeout_ns) {
		struct running *r = p->first;

		remove_running(p, r);
		r->hangs = true;
		r->lane->active--;
		r->lane->hanging++;
		p->hanging++;
		if (is_closed(p, r->lane)) {
			has_closed |= r->lane->hanging == p->max_threads;
			refuse_all(p, r->lane, &refused);
		} else if (r->lane->queued) {
			call_thread(p);
		}
	}
	next_ns = p->queued ? now_ns + p->timeout_ns : INT64_MAX;
	if (p->first)
		next_ns = p->first->start_ns + p->timeout_ns;
	pthread_mutex_unlock(&p->lock);
	log_closed(has_closed, p->max_threads);
	while ((job = (struct job *)fifo_take(&refused)))
		job->run(job);
	join_ended(p);
	return next_ns;
}

unsigned pool_hanging(struct pool *p)
{
	unsigned hanging;

	pthread_mutex_lock(&p->lock);
	hanging = p->hanging;
	pthread_mutex_unlock(&p->lock);
	return hanging;
}
