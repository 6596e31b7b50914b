/* SPDX-License-Identifier: MIT */
/* getppid: the shortest system call, so many times. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000000;

	for (long i = 0; i < count; i++)
		syscall(SYS_getppid);
	return 0;
}
