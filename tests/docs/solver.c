/* SPDX-License-Identifier: MIT */
/*
 * solver: what the examples of the man pages record: a fifth of a second of work by two
 * threads; with the argument "forever", a little work now and then until it is ended.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static struct {
	int64_t until_ns; /* of clock_mono_ns(); written before the threads start */
	useconds_t pause_us;
} plan;

static void *work(void *matrix)
{
	for (int i = 0; clock_mono_ns() < plan.until_ns; i++) {
		memset(matrix, i, 1 << 20);
		if (plan.pause_us)
			usleep(plan.pause_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char matrices[2][1 << 20];
	pthread_t worker;

	plan.until_ns = clock_mono_ns() + NS_PER_S / 5;
	if (argc > 1 && strcmp(argv[1], "forever") == 0) {
		plan.until_ns = INT64_MAX;
		plan.pause_us = 5000;
	}
	if (pthread_create(&worker, NULL, work, matrices[0]) != 0)
		return 1;
	pthread_setname_np(worker, "worker");
	work(matrices[1]);
	pthread_join(worker, NULL);
	return 0;
}
