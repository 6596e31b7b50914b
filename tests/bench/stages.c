/* SPDX-License-Identifier: MIT */
/*
 * stages: what a begin and its end cost, four levels deep, against what they are made of.
 *
 * CPU time of the thread, the median of rounds. With libauger-count.so preloaded the heap is
 * measured as well.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "auger/stage.h"

#include "bench.h"

#define ROUNDS 15
#define THREADS 2
#define CALIPER_NS 244 /* a pair, on the same type of machine */

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Four nested stages. */
static void run_stages(struct auger_profiler *p, long pairs)
{
	for (long i = 0; i < pairs / 4; i++) {
		AUGER_STAGE(p, "one");
		{
			AUGER_STAGE(p, "two");
			{
				AUGER_STAGE(p, "three");
				{
					AUGER_STAGE(p, "four");
					__asm__ volatile("" ::: "memory");
				}
			}
		}
	}
}

static void run_empty(struct auger_profiler *p, long pairs)
{
	for (long i = 0; i < pairs / 4; i++)
		__asm__ volatile("" ::"r"(p) : "memory");
}

static void run_two_counters(struct auger_profiler *p, long pairs)
{
	(void)p;
	for (long i = 0; i < pairs; i++) {
#if defined(__x86_64__)
		__asm__ volatile("" ::"r"(__rdtsc()), "r"(__rdtsc()));
#endif
	}
}

static void run_two_clocks(struct auger_profiler *p, long pairs)
{
	struct timespec t;

	(void)p;
	for (long i = 0; i < 2 * pairs; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
}

static int statm, io;

static void read_all(void)
{
	char text[512];
	struct rusage u;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	getrusage(RUSAGE_SELF, &u);
	if (pread(statm, text, sizeof text, 0) < 0 || pread(io, text, sizeof text, 0) < 0)
		perror("/proc");
}

static void run_calls(struct auger_profiler *p, long pairs)
{
	(void)p;
	for (long i = 0; i < 2 * pairs; i++)
		read_all();
}

static void run_malloc(struct auger_profiler *p, long pairs)
{
	(void)p;
	for (long i = 0; i < pairs; i++) {
		void *volatile block = malloc(64);

		free(block);
	}
}

struct work {
	void (*run)(struct auger_profiler *p, long pairs);
	struct auger_profiler *p;
	long pairs;
	double ns; /* a pair, the median */
};

static void *measure(void *arg)
{
	struct work *w = arg;
	double ns[ROUNDS];

	w->run(w->p, w->pairs / 4);
	for (int i = 0; i < ROUNDS; i++) {
		double began = cpu_ns();

		w->run(w->p, w->pairs);
		ns[i] = (cpu_ns() - began) / (double)w->pairs;
	}
	qsort(ns, ROUNDS, sizeof ns[0], compare);
	w->ns = ns[ROUNDS / 2];
	return w;
}

static double measure_one(void (*run)(struct auger_profiler *, long), struct auger_profiler *p,
			  long pairs)
{
	struct work w = { run, p, pairs, 0 };

	measure(&w);
	return w.ns;
}

/* In two threads at once, for each. */
static double measure_threads(struct auger_profiler *p, long pairs)
{
	struct work w[THREADS];
	pthread_t threads[THREADS];
	double sum = 0;

	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct work){ run_stages, p, pairs, 0 };
		pthread_create(&threads[i], NULL, measure, &w[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += w[i].ns;
	}
	return sum / THREADS;
}

static void show(const char *what, double ns, double most)
{
	bench_print(&(struct bench_row){ .what = what, .value = ns, .unit = "ns", .most = most });
}

static struct auger_profiler *new_profiler(enum auger_level level)
{
	return auger_profiler_new(AUGER_OPTS(.level = level, .out = ""));
}

int main(void)
{
	struct auger_profiler *timed = new_profiler(AUGER_TIME);
	struct auger_profiler *full = new_profiler(AUGER_FULL);
	double counters, clocks, calls, ns;

	statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	io = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	printf("# begin and end of a stage, heap %s\n",
	       getenv("LD_PRELOAD") ? "counted" : "not counted");
	counters = measure_one(run_two_counters, NULL, 400000);
	clocks = measure_one(run_two_clocks, NULL, 400000);
	calls = measure_one(run_calls, NULL, 4000);
	show("two readings of the processor's counter", counters, 0);
	show("two clock_gettime()", clocks, 0);
	show("the system calls of level full, twice", calls, 0);
	ns = measure_one(run_stages, NULL, 4000000) - measure_one(run_empty, NULL, 4000000);
	show("off", ns, 1);
	ns = measure_one(run_stages, timed, 400000);
	show("time", ns, 30);
	bench_compare("time", ns, "ns", "Caliper's runtime-report, quoted", CALIPER_NS, 0);
	bench_compare("time, two threads, each", measure_threads(timed, 400000), "ns",
		      "two counters", counters, 0);
	bench_compare("full", measure_one(run_stages, full, 8000), "ns", "its system calls", calls,
		      0.5);
	bench_compare("full, two threads, each", measure_threads(full, 8000), "ns",
		      "its system calls", calls, 0.5);
	show("malloc(64) and free()", measure_one(run_malloc, NULL, 400000), 0);
	auger_profiler_close(timed);
	auger_profiler_close(full);
	return 0;
}
