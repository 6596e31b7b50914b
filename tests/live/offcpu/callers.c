/* SPDX-License-Identifier: MIT */
/*
 * callers: waits whose stacks differ only in who called, at the same depth and with the same
 * registers, in turn. Prints "NAME nanoseconds" of each caller. usage: callers [FRAMES]
 *
 * FRAMES: of 256 bytes each, between the caller and the wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TURNS 20

static long frames;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A function of its own under its own name. */
#if defined(__clang__)
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa))
#endif

static ALONE long long nap(long ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000 };
	long long before = now();

	nanosleep(&t, NULL);
	return now() - before;
}

static ALONE long long descend(long left, long ms)
{
	volatile char room[200];
	long long slept;

	room[0] = 1;
	slept = left ? descend(left - 1, ms) : nap(ms);
	return slept + room[0] - 1;
}

/* The same length is asked for by both, so that nothing but the return address differs. */
static ALONE long long caller_one(void)
{
	return descend(frames, 5) + 1;
}

static ALONE long long caller_two(void)
{
	return descend(frames, 5) + 2;
}

int main(int argc, char **argv)
{
	long long (*const callers[])(void) = { caller_one, caller_two, caller_one };
	long long slept[2] = { 0 };

	frames = argc > 1 ? atol(argv[1]) : 0;
	for (int i = 0; i < 3 * TURNS; i++)
		slept[i % 3 == 1] += callers[i % 3]();
	printf("caller_one %lld\ncaller_two %lld\n", slept[0], slept[1]);
	return 0;
}
