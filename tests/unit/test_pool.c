/* SPDX-License-Identifier: MIT */
#include "cachefs/store/pool.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tap.h"

#define THREADS 4
#define TIMEOUT_NS (NS_PER_S / 50)
#define STOP_NS (10 * NS_PER_S)

/* Jobs that wait until they are released. */
struct waiting {
	sem_t begins, released;
	_Atomic int ran, refused;
};

struct test_job {
	struct job job; /* the first member */
	struct waiting *of;
};

static void wait_for(sem_t *s)
{
	while (sem_wait(s) < 0)
		continue;
}

static void run(struct job *job)
{
	struct test_job *t = (struct test_job *)job;

	if (job->is_refused) {
		t->of->refused++;
	} else {
		sem_post(&t->of->begins);
		wait_for(&t->of->released);
		t->of->ran++;
	}
	free(t);
}

static void waiting_init(struct waiting *w)
{
	*w = (struct waiting){ .ran = 0 };
	sem_init(&w->begins, 0, 0);
	sem_init(&w->released, 0, 0);
}

static void waiting_fini(struct waiting *w)
{
	sem_destroy(&w->begins);
	sem_destroy(&w->released);
}

static int submit(struct pool *p, struct waiting *w, dev_t device)
{
	struct test_job *t = calloc(1, sizeof *t);
	int rc = -ENOMEM;

	if (t) {
		*t = (struct test_job){ .job.run = run, .of = w };
		rc = pool_submit(p, &t->job, device, true);
	}
	if (rc < 0)
		free(t);
	return rc;
}

static void release(struct waiting *w, int count)
{
	for (int i = 0; i < count; i++)
		sem_post(&w->released);
}

/* Jobs of one file system that do not return hold up no other's. */
static void test_lanes(void)
{
	struct pool *p = pool_new(THREADS, TIMEOUT_NS);
	struct waiting slow, other;

	waiting_init(&slow);
	waiting_init(&other);
	for (int i = 0; i < 3 * THREADS; i++)
		CHECK_INT(submit(p, &slow, 1), 0);
	for (int i = 0; i < THREADS; i++)
		wait_for(&slow.begins);
	CHECK_INT(submit(p, &other, 2), 0);
	wait_for(&other.begins);
	CHECK_INT(sem_trywait(&slow.begins), -1); /* no more than THREADS at once */
	release(&other, 1);
	release(&slow, 3 * THREADS);
	for (int i = 0; i < 2 * THREADS; i++)
		wait_for(&slow.begins);
	CHECK(pool_stop(p, STOP_NS));
	CHECK_INT(slow.ran, 3 * THREADS);
	CHECK_INT(other.ran, 1);
	waiting_fini(&slow);
	waiting_fini(&other);
}

/* A job that hangs gives its place to the next; when too many hang, the rest is refused until they
 * return. */
static void test_hanging(void)
{
	struct pool *p = pool_new(THREADS, TIMEOUT_NS);
	struct waiting w;
	int64_t next_ns;

	waiting_init(&w);
	CHECK_INT(pool_check(p, clock_mono_ns()) == INT64_MAX, 1);
	CHECK_INT(submit(p, &w, 1), 0);
	wait_for(&w.begins);
	next_ns = pool_check(p, clock_mono_ns());
	CHECK(next_ns != INT64_MAX);
	CHECK_INT(pool_hanging(p), 0);
	pool_check(p, clock_mono_ns() + TIMEOUT_NS);
	CHECK_INT(pool_hanging(p), 1);
	for (int i = 0; i < 2 * THREADS; i++)
		CHECK_INT(submit(p, &w, 1), 0);
	for (int i = 0; i < THREADS; i++)
		wait_for(&w.begins);
	pool_check(p, clock_mono_ns() + 2 * TIMEOUT_NS);
	CHECK_INT(pool_hanging(p), THREADS + 1);
	CHECK_INT(w.refused, THREADS);
	CHECK_INT(submit(p, &w, 1), -EIO);
	release(&w, THREADS + 1);
	while (pool_hanging(p))
		sched_yield();
	CHECK_INT(submit(p, &w, 1), 0);
	release(&w, 1);
	wait_for(&w.begins);
	CHECK(pool_stop(p, STOP_NS));
	CHECK_INT(w.ran, THREADS + 2);
	waiting_fini(&w);
}

/* A job that hangs lets pool_stop fail in time; the pool goes on when it returns. */
static void test_stop(void)
{
	struct pool *p = pool_new(THREADS, TIMEOUT_NS);
	struct waiting w;

	waiting_init(&w);
	for (int i = 0; i < THREADS + 1; i++)
		CHECK_INT(submit(p, &w, 1), 0);
	for (int i = 0; i < THREADS; i++)
		wait_for(&w.begins);
	CHECK(!pool_stop(p, TIMEOUT_NS));
	release(&w, THREADS);
	CHECK(pool_stop(p, STOP_NS));
	CHECK_INT(w.ran, THREADS);
	CHECK_INT(w.refused, 1);
	waiting_fini(&w);
}

int main(void)
{
	TAP_CASE(test_lanes);
	TAP_CASE(test_hanging);
	TAP_CASE(test_stop);
	return tap_done();
}
