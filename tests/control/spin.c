/* SPDX-License-Identifier: MIT */
/* spin.c SECONDS: uses so much time, nearly all in busy_spin(), called by busy_caller(). */
#include <stdlib.h>
#include <time.h>

static volatile unsigned long counter;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void busy_spin(void)
{
	for (int i = 0; i < 1000000; i++)
		counter++;
}

__attribute__((noinline)) static void busy_caller(double until)
{
	while (now() < until) {
		busy_spin();
		counter++;
	}
}

int main(int argc, char **argv)
{
	busy_caller(now() + (argc > 1 ? atof(argv[1]) : 1));
	return counter == 1;
}
