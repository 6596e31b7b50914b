/* SPDX-License-Identifier: MIT */
/* A library opened after the start calls back. usage: late SECONDS LIBRARY */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "tree.h"

static void back(word i)
{
	tree(6, i);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	void *library = dlopen(argv[2], RTLD_NOW);
	/* as dlsym(3) has it, since C has no such conversion */
	union {
		void *found;
		void (*call)(void (*)(word), word);
	} run = { .found = library ? dlsym(library, "plugin_run") : NULL };

	if (!run.found) {
		fprintf(stderr, "late: %s\n", dlerror());
		return 1;
	}
	for (word i = 0; !seconds_over(seconds); i++)
		run.call(back, i * 2654435761u);
	return 0;
}
