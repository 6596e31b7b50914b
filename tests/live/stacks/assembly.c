/* SPDX-License-Identifier: MIT */
/* C calls assembly calls C. usage: assembly SECONDS */
#include <stdlib.h>

#include "tree.h"

void assembly_step(word i);
void from_assembly(word i);

__attribute__((noinline)) void from_assembly(word i)
{
	tree(6, i);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	for (word i = 0; !seconds_over(seconds); i++)
		assembly_step(i * 2654435761u);
	return 0;
}
