/* SPDX-License-Identifier: MIT */
/*
 * sysmix: makes exactly known system calls: from three threads, a forked child, and that child
 * after it executed this program again.
 *
 * Prints "PID TID CALL ERRNO COUNT" of each, "-" for none. Calls that nothing else here makes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BAD_FD 999

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char told[4096];
static size_t told_len;

/* Printed at the end: a write is a system call. */
static void tell(const char *call, const char *error, int count)
{
	pthread_mutex_lock(&lock);
	told_len += (size_t)snprintf(told + told_len, sizeof told - told_len, "%d %ld %s %s %d\n",
				     getpid(), syscall(SYS_gettid), call, error, count);
	pthread_mutex_unlock(&lock);
}

static void print_all(void)
{
	if (write(STDOUT_FILENO, told, told_len) < 0)
		_exit(1);
	told_len = 0;
}

static void repeat(long number, int count)
{
	for (int i = 0; i < count; i++)
		syscall(number, 0);
}

/* A path that is read in the program's memory for the first time by the call. */
static void miss(const char *path, int count)
{
	for (int i = 0; i < count; i++)
		if (syscall(SYS_openat, AT_FDCWD, path, O_RDONLY) >= 0)
			_exit(1);
	tell("openat", "ENOENT", count);
}

static void *work(void *context)
{
	static const char *const paths[] = { "/nonexistent/sysmix-A", "/nonexistent/sysmix-B",
					     "/nonexistent/sysmix-C" };
	int n = (int)(intptr_t)context;
	struct timespec nap = { 0, 2000000 };

	repeat(SYS_getppid, 1000 * (n + 1));
	tell("getppid", "-", 1000 * (n + 1));
	for (int i = 0; i < 50; i++)
		syscall(SYS_dup, BAD_FD);
	tell("dup", "EBADF", 50);
	for (int i = 0; i < 5; i++)
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
	tell("clock_nanosleep", "-", 5);
	miss(paths[n], 100 * (n + 1));
	return NULL;
}

static int run_again(void)
{
	repeat(SYS_getpgid, 200);
	tell("getpgid", "-", 200);
	miss("sysmix-relative", 7);
	print_all();
	return 0;
}

static _Noreturn void run_child(char *program)
{
	char again[] = "again", *argv[] = { program, again, NULL };

	repeat(SYS_getsid, 300);
	tell("getsid", "-", 300);
	print_all();
	execv("/proc/self/exe", argv);
	_exit(1);
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	int status;
	pid_t pid;

	if (argc > 1)
		return run_again();
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	print_all();
	pid = fork();
	if (pid == 0)
		run_child(argv[0]);
	return pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0;
}
