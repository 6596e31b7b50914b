/* SPDX-License-Identifier: MIT */
#include "relocate/copy/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_below(int dir, const char *name, int flags, unsigned mode)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	long fd;

	do
		fd = syscall(SYS_openat2, dir, name, &how, sizeof how);
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 ? -errno : (int)fd;
}

/* Opens a long name directory by directory, up to PATH_MAX bytes at a time. */
int open_beneath(int dir, const char *name, int flags, unsigned mode)
{
	int at = dir, next;

	while (strlen(name) >= PATH_MAX) {
		char part[PATH_MAX];
		const char *slash = memrchr(name, '/', PATH_MAX - 1);

		if (!slash) {
			next = -ENAMETOOLONG;
		} else {
			snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
			next = open_below(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
			name = slash + 1;
		}
		if (at != dir)
			close(at);
		if (next < 0)
			return next;
		at = next;
	}
	next = open_below(at, name, flags, mode);
	if (at != dir)
		close(at);
	return next;
}
