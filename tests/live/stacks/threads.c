/* SPDX-License-Identifier: MIT */
/* Four threads, malloc and a contended lock. usage: threads SECONDS */
#include <pthread.h>
#include <stdlib.h>

#include "tree.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double seconds = 1;

__attribute__((noinline)) static void allocate(word i)
{
	char *memory = malloc(16 + i % 5000);

	__asm__ volatile("" : : "r"(memory) : "memory");
	free(memory);
	__asm__ volatile("");
}

__attribute__((noinline)) static void locked(word i)
{
	pthread_mutex_lock(&lock);
	burn(i);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("");
}

static void *worker(void *unused)
{
	(void)unused;
	for (word i = 0; !seconds_over(seconds); i++) {
		for (int k = 0; k < 50; k++)
			allocate(i);
		locked(i);
		tree(20, i * 2654435761u);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	seconds = argc > 1 ? atof(argv[1]) : 1;
	seconds_over(0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
