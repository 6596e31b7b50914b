/* SPDX-License-Identifier: MIT */
#include "symbol/elf/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/storage/storage_open.h"
#include "symbol/elf/debuginfod.h"

static opener *chosen = opener_open_here;

static int open_path(const char *path, enum opener_kind kind, struct err *e)
{
	bool is_own = kind == OPENER_OWN_TEXT;
	CLEANUP(fd_close) int fd = storage_open_regular(path, is_own ? O_NOFOLLOW : 0, e);
	struct stat st;
	int ret;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_errno(e, "%s", path);
	if (is_own && st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(e, -EPERM, "%s: belongs to another user", path);
	ret = fd;
	fd = -1;
	return ret;
}

int opener_open_here(const char *path, enum opener_kind kind, struct err *e)
{
	return kind == OPENER_BUILD_ID ? debuginfod_open(path, e) : open_path(path, kind, e);
}

int opener_open(const char *path, enum opener_kind kind, struct err *e)
{
	return chosen(path, kind, e);
}

void opener_set(opener *f)
{
	chosen = f;
}

int opener_open_image(const char *path, enum opener_kind kind, struct elf_image *ret, struct err *e)
{
	CLEANUP(fd_close) int fd = opener_open(path, kind, e);

	return fd < 0 ? fd : elf_image_open_fd(ret, fd, path, e);
}
