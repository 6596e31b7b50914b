/* SPDX-License-Identifier: MIT */
/*
 * server: works in turns of a millisecond, and tells the number of each on a line of its own.
 * "t" on standard input makes a thread of the name "late" that works, too; the end of standard
 * input ends it.
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "spin.h"

static volatile bool is_ending;

/* Different, or the compiler makes one of them. */
static volatile int64_t early_ns, late_ns;

static NOINLINE void early_work(void)
{
	early_ns = spin(1000000);
}

static NOINLINE void late_work(void)
{
	late_ns = spin(1000000);
}

static void *run_late(void *context)
{
	pthread_setname_np(pthread_self(), "late");
	while (!is_ending)
		late_work();
	return context;
}

int main(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	pthread_t late;
	bool has_late = false;

	for (unsigned long turn = 0; !is_ending; turn++) {
		char byte;

		early_work();
		printf("%lu\n", turn);
		fflush(stdout);
		if (poll(&in, 1, 0) <= 0)
			continue;
		if (read(STDIN_FILENO, &byte, 1) <= 0)
			is_ending = true;
		else if (byte == 't' && !has_late)
			has_late = pthread_create(&late, NULL, run_late, NULL) == 0;
	}
	if (has_late)
		pthread_join(late, NULL);
	return 0;
}
