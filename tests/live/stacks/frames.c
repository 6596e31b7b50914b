/* SPDX-License-Identifier: MIT */
/* Frames of unusual size: alloca, 12 KB and 100 KB of locals. usage: frames SECONDS */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

__attribute__((noinline)) static void variable(word i)
{
	size_t size = 64 + i % 6000;
	char *memory = alloca(size);

	memset(memory, (int)i, size);
	tree(8, i + (word)memory[size / 2]);
	__asm__ volatile("" : : "r"(memory) : "memory");
}

__attribute__((noinline)) static void large(word i)
{
	char memory[12 * 1024];

	memset(memory, (int)i, sizeof memory);
	variable(i);
	__asm__ volatile("" : : "r"(memory) : "memory");
}

__attribute__((noinline)) static void huge(word i)
{
	char memory[100 * 1024];

	memory[i % sizeof memory] = 1;
	variable(i);
	__asm__ volatile("" : : "r"(memory) : "memory");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	for (word i = 0; !seconds_over(seconds); i++) {
		large(i);
		huge(i);
		variable(i);
	}
	return 0;
}
