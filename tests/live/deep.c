/* SPDX-License-Identifier: MIT */
/*
 * deep DEPTH ROUNDS: a recursion of this depth, in which each round spins for 4 ms of CPU time; two
 * rounds of three below left(), one below right().
 *
 * With --same all rounds are below left().
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUND_NS INT64_C(4000000)
#define NOINLINE __attribute__((noinline))

static volatile unsigned work;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static NOINLINE void spin(void)
{
	int64_t end = now() + ROUND_NS;

	while (now() < end)
		for (int i = 0; i < 20000; i++)
			work = work + 1;
}

static NOINLINE unsigned down(unsigned depth)
{
	volatile unsigned char local[64];

	local[depth % 64] = 1;
	if (depth == 0) {
		spin();
		return 0;
	}
	return down(depth - 1) + local[depth % 64] + work;
}

static NOINLINE unsigned left(unsigned depth)
{
	return down(depth) + work;
}

static NOINLINE unsigned right(unsigned depth)
{
	return down(depth) + work;
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 2000, sum = 0;
	int rounds = argc > 2 ? atoi(argv[2]) : 100;
	int is_same = argc > 3 && strcmp(argv[3], "--same") == 0;

	for (int i = 0; i < rounds; i++)
		sum += !is_same && i % 3 == 2 ? right(depth) : left(depth);
	return sum == 1;
}
