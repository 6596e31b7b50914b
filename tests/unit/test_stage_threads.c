/* SPDX-License-Identifier: MIT */
/* stage_threads: many threads, reports meanwhile, forks. Also under TSan. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stage_json.h"
#include "tap.h"

#define THREADS 4
#define CALLS 20000

static struct auger_profiler *prof;
static atomic_bool is_done;

static struct auger_profiler *new_profiler(enum auger_level level, enum auger_fork fork)
{
	struct auger_profiler *p =
		auger_profiler_new(AUGER_OPTS(.level = level, .fork = fork, .out = "",
					      .per_thread = level == AUGER_FULL));

	CHECK(p != NULL);
	return p;
}

static void *work(void *path)
{
	auger_thread_attach(prof, *(auger_path *)path);
	for (int i = 0; i < CALLS; i++) {
		AUGER_STAGE(prof, "work");
		{
			AUGER_STAGE(prof, "inner");
		}
	}
	return NULL;
}

/* Reports can be taken at any time. */
static void *watch(void *unused)
{
	double before = 0;

	(void)unused;
	while (!atomic_load(&is_done)) {
		char *report = auger_profiler_report(prof, NULL);
		double calls = row_number(report, "outer.work", "calls");

		if (!isnan(calls)) {
			CHECK(calls >= before - THREADS); /* those that end just now */
			CHECK(row_number(report, "outer.work", "self_wall_s") >= 0);
			before = calls;
		}
		free(report);
	}
	return NULL;
}

static void run_threads(enum auger_level level)
{
	pthread_t threads[THREADS], watcher;
	auger_path path;

	prof = new_profiler(level, AUGER_FORK_KEEP);
	atomic_store(&is_done, false);
	{
		AUGER_STAGE(prof, "outer");
		path = auger_stage_current(prof);
		pthread_create(&watcher, NULL, watch, NULL);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, work, &path);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		atomic_store(&is_done, true);
		pthread_join(watcher, NULL);
	}
	CHECK_INT(stage_number(prof, "outer.work", "calls"), THREADS * CALLS);
	CHECK_INT(stage_number(prof, "outer.work.inner", "calls"), THREADS * CALLS);
	CHECK_INT(stage_number(prof, "outer.work", "threads"), THREADS);
	CHECK_INT(stage_number(prof, NULL, "errors"), 0);
	CHECK_INT(stage_number(prof, NULL, "lost"), 0);
	auger_profiler_close(prof);
}

static void test_threads_time(void)
{
	run_threads(AUGER_TIME);
}

static void test_threads_full(void)
{
	run_threads(AUGER_FULL);
}

static void *leave_open(void *unused)
{
	auger_stage_begin_name(prof, "left", 4);
	return unused;
}

/* What a thread leaves open ends with it, as an error. */
static void test_thread_exit(void)
{
	prof = new_profiler(AUGER_TIME, AUGER_FORK_KEEP);
	for (int i = 0; i < 300; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, leave_open, NULL);
		pthread_join(thread, NULL);
	}
	CHECK_INT(stage_number(prof, "left", "calls"), 300);
	CHECK_INT(stage_number(prof, "left", "errors"), 300);
	CHECK_INT(stage_number(prof, "left", "threads"), 300);
	CHECK_INT(stage_number(prof, "left", "open"), 0);
	auger_profiler_close(prof);
}

static void *end_it(void *token)
{
	auger_stage_end(prof, *(auger_token *)token);
	return NULL;
}

static void test_end_elsewhere(void)
{
	auger_token token;
	pthread_t thread;

	prof = new_profiler(AUGER_TIME, AUGER_FORK_KEEP);
	token = auger_stage_begin_name(prof, "mine", 4);
	pthread_create(&thread, NULL, end_it, &token);
	pthread_join(thread, NULL);
	CHECK_INT(stage_number(prof, "mine", "open"), 1);
	CHECK_INT(stage_number(prof, NULL, "stray_ends"), 1);
	auger_stage_end(prof, token);
	CHECK_INT(stage_number(prof, "mine", "errors"), 0);
	CHECK_INT(stage_number(prof, "mine", "calls"), 1);
	auger_profiler_close(prof);
}

static void *use_context(void *context)
{
	struct auger_name name = AUGER_NAME("moved");

	auger_context_begin(context, &name);
	return NULL;
}

/* A task may go on in another thread; then CPU of a thread is not known. */
static void test_moved_task(void)
{
	struct auger_context *c;
	pthread_t thread;

	prof = new_profiler(AUGER_FULL, AUGER_FORK_KEEP);
	c = auger_context_new(prof, 0);
	pthread_create(&thread, NULL, use_context, c);
	pthread_join(thread, NULL);
	auger_context_free(c);
	CHECK_INT(stage_number(prof, "moved", "calls"), 1);
	CHECK(isnan(stage_number(prof, "moved", "cpu_thread_s")));
	auger_profiler_close(prof);
}

/* The exit status is the number of failed checks. */
static int in_child(bool keeps, auger_token outer)
{
	int bad = 0;

	bad += !isnan(stage_number(prof, "outer", "calls"));
	bad += stage_number(prof, NULL, "pid") != getpid();
	{
		AUGER_STAGE(prof, "child");
	}
	bad += stage_number(prof, keeps ? "outer.child" : "child", "calls") != 1;
	auger_stage_end(prof, outer);
	{
		AUGER_STAGE(prof, "after");
	}
	bad += stage_number(prof, "after", "calls") != 1;
	bad += stage_number(prof, NULL, "errors") != 0;
	bad += !isnan(stage_number(prof, "outer", "calls"));
	return bad;
}

static void run_fork(enum auger_fork how)
{
	auger_token outer;
	int status = -1;
	pid_t child;

	prof = new_profiler(AUGER_FULL, how);
	outer = auger_stage_begin_name(prof, "outer", 5);
	{
		AUGER_STAGE(prof, "before");
	}
	child = fork();
	if (child == 0)
		_exit(in_child(how == AUGER_FORK_KEEP, outer));
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	auger_stage_end(prof, outer);
	CHECK_INT(stage_number(prof, "outer", "calls"), 1);
	CHECK(isnan(stage_number(prof, "outer.child", "calls")));
	auger_profiler_close(prof);
}

static void test_fork(void)
{
	run_fork(AUGER_FORK_KEEP);
	run_fork(AUGER_FORK_END);
}

static atomic_int forks_left;

static void *stage_until_done(void *unused)
{
	while (atomic_load(&forks_left) > 0) {
		char name[16];

		snprintf(name, sizeof name, "n%d", rand() % 500);
		auger_stage_end(prof, auger_stage_begin_name(prof, name, strlen(name)));
	}
	return unused;
}

/* Forks while other threads hold the locks. */
static void test_fork_busy(void)
{
	pthread_t threads[2];

	prof = new_profiler(AUGER_TIME, AUGER_FORK_KEEP);
	atomic_store(&forks_left, 50);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, stage_until_done, NULL);
	while (atomic_load(&forks_left) > 0) {
		int status = -1;
		pid_t child = fork();

		if (child == 0) {
			auger_stage_end(prof, auger_stage_begin_name(prof, "child", 5));
			_exit(stage_number(prof, "child", "calls") != 1);
		}
		waitpid(child, &status, 0);
		CHECK_INT(status, 0);
		atomic_fetch_sub(&forks_left, 1);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	auger_profiler_close(prof);
}

static void *report_until_cancelled(void *has_begun)
{
	for (;;) {
		AUGER_STAGE(prof, "cancelled");
		char *report = auger_profiler_report(prof, NULL);

		free(report);
		auger_profiler_write(prof, "/dev/null");
		atomic_store((atomic_bool *)has_begun, true);
		pthread_testcancel();
	}
	return NULL;
}

/* A thread that is cancelled, at whatever point, leaves no lock behind. */
static void test_cancel(void)
{
	prof = auger_profiler_new(AUGER_OPTS(.level = AUGER_FULL, .out = "", .reset_rss_peak = 1));
	CHECK(prof != NULL);
	for (int i = 0; i < 20; i++) {
		atomic_bool has_begun = false;
		pthread_t thread;
		char *report;

		pthread_create(&thread, NULL, report_until_cancelled, &has_begun);
		while (!atomic_load(&has_begun))
			sched_yield();
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		report = auger_profiler_report(prof, NULL);
		CHECK(row_number(report, "cancelled", "calls") > 0);
		free(report);
	}
	auger_profiler_close(prof);
}

int main(void)
{
	TAP_CASE(test_threads_time);
	TAP_CASE(test_threads_full);
	TAP_CASE(test_thread_exit);
	TAP_CASE(test_end_elsewhere);
	TAP_CASE(test_moved_task);
	TAP_CASE(test_fork);
	TAP_CASE(test_fork_busy);
	TAP_CASE(test_cancel);
	return tap_done();
}
