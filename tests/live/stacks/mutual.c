/* SPDX-License-Identifier: MIT */
/* Mutual calls, 10 to 60 frames deep. usage: mutual SECONDS */
#include <stdlib.h>

#include "tree.h"

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	for (word i = 0; !seconds_over(seconds); i++)
		tree(10 + (unsigned)(i % 50), i * 2654435761u);
	return 0;
}
