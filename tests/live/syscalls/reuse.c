/* SPDX-License-Identifier: MIT */
/*
 * reuse: two processes, one after the other, with the same PID.
 *
 * The first makes 100 calls of getppid, the second 30. Prints the PID. Exit status 77: the
 * kernel does not let this process choose a PID (clone3(2), set_tid).
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child with this PID; 0: any. -1: refused. */
static pid_t make(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	if (pid) {
		args.set_tid = (uintptr_t)&pid;
		args.set_tid_size = 1;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

static void call(int times)
{
	for (int i = 0; i < times; i++)
		syscall(SYS_getppid);
	_exit(0);
}

int main(void)
{
	pid_t first = make(0), second;

	if (first == 0)
		call(100);
	if (first < 0 || waitpid(first, NULL, 0) < 0)
		return 77;
	second = make(first);
	if (second == 0)
		call(30);
	if (second != first)
		return 77;
	waitpid(second, NULL, 0);
	printf("%d\n", (int)second);
	return 0;
}
