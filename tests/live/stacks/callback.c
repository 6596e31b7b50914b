/* SPDX-License-Identifier: MIT */
/* The hot code is below libc: qsort calls back. usage: callback SECONDS */
#include <stdlib.h>

#include "tree.h"

#define COUNT 512

__attribute__((noinline)) static int weigh(const int *a, const int *b)
{
	burn((word)*a);
	return (*a > *b) - (*a < *b);
}

static int compare(const void *a, const void *b)
{
	int order = weigh(a, b);

	__asm__ volatile("");
	return order;
}

__attribute__((noinline)) static void sort_all(int *values)
{
	for (int i = 0; i < COUNT; i++)
		values[i] = (i * 7919) % 1000;
	qsort(values, COUNT, sizeof *values, compare);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int values[COUNT];

	while (!seconds_over(seconds))
		sort_all(values);
	return 0;
}
