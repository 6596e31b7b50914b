/* SPDX-License-Identifier: MIT */
/*
 * orphans N: kills N processes while they fork, and waits for all that these leave behind.
 *
 * Of some of their children a tracer sees the stop, but never the fork.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void fork_for_ever(void)
{
	for (;;) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < rounds; i++) {
		pid_t child = fork();

		if (child == 0)
			fork_for_ever();
		usleep(300 + (useconds_t)rand() % 2000);
		kill(child, SIGKILL);
	}
	while (wait(NULL) > 0)
		;
	puts("done");
	return 0;
}
