/* SPDX-License-Identifier: MIT */
/* What churn.c loads: its constructor answers "load", and waits until descriptor $SLOW_FD ends. */
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void wait_long(void)
{
	const char *fd = getenv("SLOW_FD");
	char byte;

	if (write(STDOUT_FILENO, "load\n", 5) == 5 && fd)
		while (read(atoi(fd), &byte, 1) > 0)
			;
}
