/* SPDX-License-Identifier: MIT */
/*
 * target: a process with two threads that runs already: it makes calls when it is told to.
 *
 * For each line of standard input it makes 100 getppid in a thread of its own that waits for it,
 * and 10 getsid in a new child, then prints "done".
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int pipes[2];

static void *serve(void *context)
{
	char byte;

	(void)context;
	while (read(pipes[0], &byte, 1) == 1) {
		for (int i = 0; i < 100; i++)
			syscall(SYS_getppid);
		if (fork() == 0) {
			for (int i = 0; i < 10; i++)
				syscall(SYS_getsid, 0);
			_exit(0);
		}
		wait(NULL);
		puts("done");
		fflush(stdout);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char line[16];

	if (pipe(pipes) < 0 || pthread_create(&thread, NULL, serve, NULL) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin))
		if (write(pipes[1], "x", 1) != 1)
			return 1;
	return 0;
}
