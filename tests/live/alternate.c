/* SPDX-License-Identifier: MIT */
/*
 * alternate MICROSECONDS MILLISECONDS [SHARE]: at the end of 2,000 equal frames, spends time in
 * red_leaf when red called them, and in blue_leaf when blue did. The two take turns of
 * MICROSECONDS; blue has 1 of SHARE turns (2 by default; 0: none).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 2000

static volatile uint64_t sink;
static volatile int is_blue;
static int64_t turn_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* step: or they would be one function */
#define LEAF(name, step)                                                             \
	static __attribute__((noinline)) void name(void)                             \
	{                                                                            \
		for (int64_t end = now_ns() + turn_ns; now_ns() < end; sink += step) \
			for (volatile int i = 0; i < 2000; i++)                      \
				;                                                    \
	}

LEAF(red_leaf, 1)
LEAF(blue_leaf, 2)

static __attribute__((noinline)) uint64_t middle(int depth)
{
	volatile unsigned char room[64];
	uint64_t got;

	room[depth % 64] = 1;
	if (depth == 0) {
		if (is_blue)
			blue_leaf();
		else
			red_leaf();
		return sink;
	}
	got = middle(depth - 1);
	sink += got & 1;
	return got + room[depth % 64];
}

static __attribute__((noinline)) void red(void)
{
	is_blue = 0;
	sink += middle(DEPTH);
}

static __attribute__((noinline)) void blue(void)
{
	is_blue = 1;
	sink += middle(DEPTH);
}

int main(int argc, char **argv)
{
	int64_t end;
	int share = argc > 3 ? atoi(argv[3]) : 2;

	if (argc < 3)
		return 2;
	turn_ns = atoll(argv[1]) * 1000;
	end = now_ns() + atoll(argv[2]) * 1000000;
	for (int i = 0; now_ns() < end; i++) {
		if (share && i % share == share - 1)
			blue();
		else
			red();
	}
	return 0;
}
