/* SPDX-License-Identifier: MIT */
/* pingpong: two processes that wake each other through pipes, N times each; prints the seconds
 * that took. usage: pingpong N */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void play(int from, int to, long turns)
{
	char ball = 0;

	for (long i = 0; i < turns; i++)
		if (read(from, &ball, 1) != 1 || write(to, &ball, 1) != 1)
			return;
}

int main(int argc, char **argv)
{
	long turns = argc > 1 ? atol(argv[1]) : 100000;
	int there[2], back[2];
	double start = now();
	pid_t child;

	if (pipe(there) < 0 || pipe(back) < 0)
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	if (child == 0) {
		play(there[0], back[1], turns);
		_exit(0);
	}
	if (write(there[1], "", 1) != 1)
		return 1;
	play(back[0], there[1], turns);
	close(there[1]);
	waitpid(child, NULL, 0);
	printf("%.4f\n", now() - start);
	return 0;
}
