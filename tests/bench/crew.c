/* SPDX-License-Identifier: MIT */
/* crew: threads that take work from a queue, as servers do, some 50 us of it at a time; prints the
 * seconds that took. usage: crew ITEMS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORKERS 4
#define QUEUE 8
#define ROUNDS 12000 /* of work, an item */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long queued, left;
static volatile unsigned long sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work(void)
{
	unsigned long v = sink;

	for (int i = 0; i < ROUNDS; i++)
		v = v * 6364136223846793005UL + 1442695040888963407UL;
	sink = v;
}

static int take(void)
{
	int is_work;

	pthread_mutex_lock(&lock);
	while (queued == 0 && left > 0)
		pthread_cond_wait(&changed, &lock);
	is_work = queued > 0;
	queued -= is_work;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return is_work;
}

static void *serve(void *nothing)
{
	while (take())
		work();
	return nothing;
}

static void give(void)
{
	pthread_mutex_lock(&lock);
	while (queued == QUEUE)
		pthread_cond_wait(&changed, &lock);
	queued++;
	left--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	long items = argc > 1 ? atol(argv[1]) : 20000;
	pthread_t threads[WORKERS];
	double start = now();

	left = items;
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, serve, NULL))
			return 1;
	for (long i = 0; i < items; i++)
		give();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("%.4f\n", now() - start);
	return 0;
}
