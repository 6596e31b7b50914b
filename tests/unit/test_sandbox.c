/* SPDX-License-Identifier: MIT */
#include "symbol/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define NO_FILTER 255

/* Runs in a process of its own: what it returns is its exit status. */
static int status_of(int (*run)(int), int argument)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(run(argument));
	waitpid(pid, &status, 0);
	return status;
}

static bool is_executable_refused(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	/* cppcheck-suppress invalidFunctionArg */
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, flags, -1, 0) == MAP_FAILED;
}

/* Each row that fails is a bit. */
static int try_all(int file)
{
	const int kept = dup2(file, 3);
	const bool has_filter = sandbox_enter(4);
	const struct rlimit more = { RLIM_INFINITY, RLIM_INFINITY };
	char byte, *memory;
	int wrong = 0;

	if (!has_filter)
		return NO_FILTER;
	wrong |= open("/etc/passwd", O_RDONLY) >= 0 ? 1 : 0;
	wrong |= socket(AF_INET, SOCK_DGRAM, 0) >= 0 ? 2 : 0;
	wrong |= fork() >= 0 ? 4 : 0;
	wrong |= kill(getppid(), 0) == 0 ? 8 : 0;
	wrong |= setrlimit(RLIMIT_CPU, &more) == 0 ? 16 : 0;
	wrong |= pread(kept, &byte, 1, 0) == 1 && close(4) < 0 ? 0 : 32;
	memory = malloc((size_t)1 << 22);
	if (memory)
		memset(memory, 1, (size_t)1 << 22);
	wrong |= memory && is_executable_refused() ? 0 : 64;
	free(memory);
	return wrong;
}

static void test_refuses(void)
{
	int file = open("/proc/self/exe", O_RDONLY);

	int status = status_of(try_all, file);

	close(file);
	if (status == NO_FILTER << 8)
		SKIP("a sanitizer, or no seccomp filters here");
	else
		CHECK_INT(status, 0);
}

int main(void)
{
	TAP_CASE(test_refuses);
	return tap_done();
}
