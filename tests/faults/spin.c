/* SPDX-License-Identifier: MIT */
/* spin: 30 ms of CPU in main(), a few system calls, exit status 3. Linked statically. */
#include <stdio.h>
#include <time.h>

int main(void)
{
	struct timespec used;
	volatile unsigned long sum = 0;
	FILE *null = fopen("/dev/null", "w");

	do {
		for (unsigned long i = 0; i < 10000; i++)
			sum += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec == 0 && used.tv_nsec < 30 * 1000 * 1000);
	if (null) {
		fprintf(null, "%lu\n", sum);
		fclose(null);
	}
	return 3;
}
