/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frozen_job.h"

static void *short_life(void *arg)
{
	(void)arg;
	shared->work++;
	return NULL;
}

int churn(void)
{
	shared->is_ready = 1;
	while (!shared->stop) {
		pthread_t t[4];
		pid_t child;
		int status;

		for (size_t i = 0; i < ARRAY_LEN(t); i++)
			if (pthread_create(&t[i], NULL, short_life, NULL))
				return 1;
		child = vfork();
		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0 || status)
			return 2;
		for (size_t i = 0; i < ARRAY_LEN(t); i++)
			pthread_join(t[i], NULL);
	}
	return 0;
}

/* Wakes seldom: 256 of them would leave the visitor no CPU on a slow machine. */
static void *lasting(void *arg)
{
	(void)arg;
	while (!shared->stop) {
		nap_ms(50);
		shared->work++;
	}
	return NULL;
}

int many_threads(void)
{
	pthread_t t[256];

	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		if (pthread_create(&t[i], NULL, lasting, NULL))
			return 1;
	shared->is_ready = 1;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		pthread_join(t[i], NULL);
	return 0;
}
