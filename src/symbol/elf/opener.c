/* SPDX-License-Identifier: MIT */
#include "symbol/elf/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static opener *chosen = opener_open_here;

int opener_open_here(const char *path, enum opener_kind kind, struct err *e)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	bool is_own = kind == OPENER_OWN_TEXT;
	CLEANUP(fd_close) int fd = open(path, is_own ? flags | O_NOFOLLOW : flags);
	struct stat st;
	int ret;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%s: not a regular file", path);
	if (is_own && st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(e, -EPERM, "%s: belongs to another user", path);
	ret = fd;
	fd = -1;
	return ret;
}

int opener_open(const char *path, enum opener_kind kind, struct err *e)
{
	return chosen(path, kind, e);
}

void opener_set(opener *f)
{
	chosen = f;
}

int opener_open_image(const char *path, struct elf_image *ret, struct err *e)
{
	CLEANUP(fd_close) int fd = opener_open(path, OPENER_ELF, e);

	return fd < 0 ? fd : elf_image_open_fd(ret, fd, path, e);
}
