/* SPDX-License-Identifier: MIT */
/*
 * truth_table CALLS STATUS: stages by the library, with the heap peaks of the truth table: a parent
 * that had 10 MiB before its child took 1 MiB and gave it back has a peak of 10 MiB. Prints what it
 * did: "NAME NUMBER" lines. Ends with STATUS.
 */
#include <auger/stage.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB ((size_t)1 << 20)

static void take_and_give(size_t bytes)
{
	char *volatile block = malloc(bytes);

	if (block)
		memset(block, 1, bytes);
	free(block);
}

static void run_parent(void)
{
	AUGER_STAGE(auger_default, "parent");

	take_and_give(10 * MIB);
	{
		AUGER_STAGE(auger_default, "child");
		take_and_give(MIB);
	}
	{
		AUGER_STAGE(auger_default, "big");
		take_and_give(20 * MIB);
	}
}

static void run_sleep(void)
{
	AUGER_STAGE(auger_default, "sleep");

	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 1;

	for (long i = 0; i < calls; i++) {
		run_parent();
		run_sleep();
	}
	printf("calls %ld\n", calls);
	return argc > 2 ? atoi(argv[2]) : 0;
}
