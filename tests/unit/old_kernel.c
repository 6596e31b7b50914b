/* SPDX-License-Identifier: MIT */
/* old_kernel ENOSYS|EPERM PROGRAM ARG...: runs it without the system calls of newer kernels. */
#include "old_kernel.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3 || old_kernel_enter(strcmp(argv[1], "EPERM") == 0 ? EPERM : ENOSYS) < 0)
		return 2;
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
