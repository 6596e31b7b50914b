/* SPDX-License-Identifier: MIT */
/*
 * unsafe: a preloaded library for storage that fails when it is asked to keep what it has.
 * UNSAFE_CALL=fsync|syncfs, UNSAFE_AT=N: the Nth such call (from 1) of the program fails with EIO.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int is_doomed(const char *call)
{
	static int calls;
	const char *which = getenv("UNSAFE_CALL"), *at = getenv("UNSAFE_AT");

	if (!which || !at || strcmp(which, call) != 0 || ++calls != atoi(at))
		return 0;
	errno = EIO;
	return 1;
}

EXPORT int fsync(int fd)
{
	return is_doomed("fsync") ? -1 : (int)syscall(SYS_fsync, fd);
}

EXPORT int syncfs(int fd)
{
	return is_doomed("syncfs") ? -1 : (int)syscall(SYS_syncfs, fd);
}
