/* SPDX-License-Identifier: MIT */
/* One function calls itself. usage: recursion SECONDS DEPTH */
#include <stdlib.h>

#include "tree.h"

__attribute__((noinline)) static word recurse(unsigned depth, word path)
{
	volatile word local = path;

	if (depth == 0)
		burn(path);
	else
		local += recurse(depth - 1, path + 1);
	return local;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	unsigned depth = argc > 2 ? (unsigned)atoi(argv[2]) : 200;
	word sum = 0;

	/* 0.1 ms at the bottom for each descent of 10,000 */
	while (!seconds_over(seconds))
		sum += recurse(depth, sum);
	return sum == 1;
}
