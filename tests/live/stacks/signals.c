/* SPDX-License-Identifier: MIT */
/* A timer's handler interrupts the tree anywhere. usage: signals SECONDS */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "tree.h"

__attribute__((noinline)) static void in_handler(word n)
{
	for (int i = 0; i < 50; i++)
		burn(n);
	__asm__ volatile("");
}

static void handler(int number)
{
	in_handler((word)number);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (word i = 0; !seconds_over(seconds); i++)
		tree(10 + (unsigned)(i % 20), i * 2654435761u);
	return 0;
}
