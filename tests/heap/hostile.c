/* SPDX-License-Identifier: MIT */
/*
 * hostile: a process that plays tricks on who attaches to it. It says "ready", and ends with its
 * standard input.
 *
 * "hostile swap FILE": puts FILE, which it may read only, at the descriptor of each memory file
 * that appears. "hostile map FILE": has FILE mapped, shared.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 4

static int file, number; /* number: that the next descriptor will have */

static void *swap(void *unused)
{
	for (;;)
		if (fcntl(number, F_GETFD) >= 0)
			dup2(file, number);
	return unused;
}

static int start_swapping(const char *path)
{
	pthread_t thread;
	int rc = 0;

	file = open(path, O_RDONLY);
	number = dup(file);
	close(number);
	for (int i = 0; i < THREADS && rc == 0; i++)
		rc = pthread_create(&thread, NULL, swap, NULL);
	return file < 0 || rc != 0;
}

static int map(const char *path)
{
	file = open(path, O_RDWR);
	return mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED;
}

static int begin(const char *what, const char *path)
{
	return strcmp(what, "map") == 0 ? map(path) : start_swapping(path);
}

int main(int argc, char **argv)
{
	char line[100];

	if (argc != 3 || begin(argv[1], argv[2]) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin))
		;
	return 0;
}
