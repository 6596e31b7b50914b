/* SPDX-License-Identifier: MIT */
/* fd: closes a file descriptor when its variable leaves its scope: CLEANUP(fd_close) int fd. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <unistd.h>

/* A negative descriptor is none. */
static inline void fd_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif
