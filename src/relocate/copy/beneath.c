/* SPDX-License-Identifier: MIT */
#include "relocate/copy/beneath.h"

#include <errno.h>
#include <fcntl.h>

#include "base/compat/compat.h"

int open_beneath(int dir, const char *name, int flags, unsigned mode)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	int fd;

	do
		fd = compat_openat2(dir, name, &how);
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 ? -errno : fd;
}
