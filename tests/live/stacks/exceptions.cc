// SPDX-License-Identifier: MIT
// Exceptions through several frames, work in destructors and handlers. usage: exceptions SECONDS
#include <cstdlib>

extern "C" {
#include "tree.h"
}

namespace
{
struct Guard {
	word i;
	__attribute__((noinline)) ~Guard()
	{
		burn(i);
	}
};

__attribute__((noinline)) void thrower(word i)
{
	Guard guard{ i };

	burn(i);
	if (i & 1)
		throw i;
}

__attribute__((noinline)) void middle(word i)
{
	Guard guard{ i };

	thrower(i);
	__asm__ volatile("");
}

__attribute__((noinline)) void catcher(word i)
{
	try {
		middle(i);
	} catch (word caught) {
		for (int k = 0; k < 5; k++)
			burn(caught);
	}
	__asm__ volatile("");
}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	for (word i = 0; !seconds_over(seconds); i++)
		catcher(i);
	return 0;
}
