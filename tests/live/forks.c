/* SPDX-License-Identifier: MIT */
/*
 * forks MS: a child that only forks, one that executes this program again (as "exe"), one by
 * vfork that does, and a grandchild, each for MS milliseconds of CPU time. Prints "WHAT PID
 * NANOSECONDS" for each, as wait4(2) has it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

/* Different, or the compiler makes one of them. */
static volatile int64_t child_ns, exec_ns;

static NOINLINE void child_work(int64_t ns)
{
	child_ns = spin(ns);
}

static NOINLINE void exec_work(int64_t ns)
{
	exec_ns = spin(ns);
}

static int64_t wait_for(pid_t pid)
{
	struct rusage u;
	int status;

	if (wait4(pid, &status, 0, &u) != pid)
		return -1;
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000000) +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * INT64_C(1000);
}

static void tell(const char *what, pid_t pid)
{
	int64_t ns = wait_for(pid);

	printf("%s %d %lld\n", what, (int)pid, (long long)ns);
	fflush(stdout);
}

/* A child whose only child does the work. */
static void run_middle(int64_t ns)
{
	pid_t pid = fork();

	if (pid == 0) {
		child_work(ns);
		_exit(0);
	}
	tell("grandchild", pid);
	_exit(0);
}

int main(int argc, char **argv)
{
	int64_t ns = (argc > 1 ? atol(argv[1]) : 100) * INT64_C(1000000);
	pid_t pid;

	if (argc > 2) {
		exec_work(ns);
		return 0;
	}
	pid = fork();
	if (pid == 0) {
		child_work(ns);
		_exit(0);
	}
	tell("fork", pid);
	pid = fork();
	if (pid == 0)
		_exit(execl("/proc/self/exe", "again", argc > 1 ? argv[1] : "100", "x", NULL));
	tell("exec", pid);
	pid = vfork();
	if (pid == 0)
		_exit(execl("/proc/self/exe", "again", argc > 1 ? argv[1] : "100", "x", NULL));
	tell("vfork", pid);
	pid = fork();
	if (pid == 0)
		run_middle(ns);
	waitpid(pid, NULL, 0);
	return 0;
}
