/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <time.h>

#define FUNCTION(i, a, b)                                                      \
	__attribute__((noinline)) static void f_##i(unsigned depth, word path) \
	{                                                                      \
		volatile word local = path ^ i;                                \
                                                                               \
		if (depth == 0)                                                \
			burn(local);                                           \
		else if (local & 1)                                            \
			f_##a(depth - 1, path >> 1);                           \
		else                                                           \
			f_##b(depth - 1, path >> 1);                           \
		local++; /* no tail call */                                    \
	}
#define DECLARE(i) static void f_##i(unsigned depth, word path);

DECLARE(0)
DECLARE(1)
DECLARE(2)
DECLARE(3)
DECLARE(4)
DECLARE(5)
DECLARE(6)
DECLARE(7)
DECLARE(8)
DECLARE(9)
DECLARE(10)
DECLARE(11)
DECLARE(12)
DECLARE(13)
DECLARE(14)
DECLARE(15)
FUNCTION(0, 1, 2)
FUNCTION(1, 2, 5)
FUNCTION(2, 3, 8)
FUNCTION(3, 4, 11)
FUNCTION(4, 5, 14)
FUNCTION(5, 6, 1)
FUNCTION(6, 7, 4)
FUNCTION(7, 8, 7)
FUNCTION(8, 9, 10)
FUNCTION(9, 10, 13)
FUNCTION(10, 11, 0)
FUNCTION(11, 12, 3)
FUNCTION(12, 13, 6)
FUNCTION(13, 14, 9)
FUNCTION(14, 15, 12)
FUNCTION(15, 0, 15)

__attribute__((noinline)) void burn(word path)
{
	volatile word sum = path;

	for (int i = 0; i < 2000; i++)
		sum = sum * 31 + (word)i;
}

__attribute__((noinline)) void tree(unsigned depth, word path)
{
	f_0(depth, path);
	__asm__ volatile("");
}

int seconds_over(double seconds)
{
	static struct timespec start;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!start.tv_sec)
		start = now;
	return (double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) >
	       seconds;
}
