/* SPDX-License-Identifier: MIT */
/*
 * makers N MAKERS MICROSECONDS [GAP]: MAKERS threads make N threads in all, each of which uses this
 * much CPU time and ends. A maker has at most 8 at a time; with GAP it has all of them, and makes
 * one each GAP microseconds.
 *
 * Prints "ready" when the makers begin, and the CPU time of the process at the end in nanoseconds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ALIVE_MAX 8   /* threads of one maker at a time */
#define MADE_MAX 1000 /* by each with GAP */

static int64_t spin_ns;
static long made_by_each;
static useconds_t gap_us;

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The loop reads the clock seldom: that is a system call. */
static void *spin(void *arg)
{
	int64_t end = now(CLOCK_THREAD_CPUTIME_ID) + spin_ns;
	volatile unsigned work = 0;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 20000; i++)
			work = work + 1;
	return arg;
}

static void *make(void *arg)
{
	pthread_t alive[MADE_MAX];
	int count = 0;

	for (long i = 0; i < made_by_each; i++) {
		if (gap_us)
			usleep(gap_us);
		if (count == (gap_us ? MADE_MAX : ALIVE_MAX))
			while (count)
				pthread_join(alive[--count], NULL);
		if (pthread_create(&alive[count], NULL, spin, NULL) == 0)
			count++;
	}
	while (count)
		pthread_join(alive[--count], NULL);
	return arg;
}

int main(int argc, char **argv)
{
	long makers = argc > 2 ? atol(argv[2]) : 4;
	pthread_t threads[64];

	if (argc < 4 || makers < 1 || makers > 64)
		return 2;
	made_by_each = atol(argv[1]) / makers;
	spin_ns = atol(argv[3]) * 1000;
	gap_us = argc > 4 ? (useconds_t)atol(argv[4]) : 0;
	puts("ready");
	fflush(stdout);
	for (long i = 0; i < makers; i++)
		if (pthread_create(&threads[i], NULL, make, NULL) != 0)
			return 1;
	for (long i = 0; i < makers; i++)
		pthread_join(threads[i], NULL);
	printf("%lld\n", (long long)now(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
