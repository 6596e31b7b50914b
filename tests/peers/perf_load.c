/* SPDX-License-Identifier: MIT */
/*
 * perf_load: some of everything that a recording has to follow: two threads, a child that
 * runs the program anew, page faults, system calls, a library's callback.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 12, ITEMS = 60000 };

static volatile long sink;

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

__attribute__((noinline)) static void sort_round(unsigned seed)
{
	int *items = malloc(ITEMS * sizeof *items);

	if (!items)
		return;
	for (int i = 0; i < ITEMS; i++)
		items[i] = (int)(seed = seed * 1103515245U + 12345U);
	qsort(items, ITEMS, sizeof *items, compare);
	sink += items[0];
	free(items);
}

__attribute__((noinline)) static void touch_pages(void)
{
	size_t len = (size_t)8 << 20;
	char *pages = malloc(len);

	if (!pages)
		return;
	memset(pages, 1, len);
	sink += pages[len / 2];
	free(pages);
}

static void *work(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		sort_round(i + (arg != NULL));
		touch_pages();
		sink += getppid();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child;

	if (argc > 1) {
		work(NULL);
		return 0;
	}
	child = fork();
	if (child == 0) {
		execl(argv[0], argv[0], "child", (char *)NULL);
		_exit(127);
	}
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 1;
	work(argv);
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	return 0;
}
