/* SPDX-License-Identifier: MIT */
#include "symbol/elf/debuginfod_cache.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD_NAME ".debuginfod_client_cache"
#define NAME "debuginfod_client"

static const char *variable(const char *name)
{
	const char *text = getenv(name);

	return text && text[0] ? text : NULL;
}

void debuginfod_cache_path(struct buf *out)
{
	const char *chosen = variable("DEBUGINFOD_CACHE_PATH"), *xdg = variable("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	struct stat st;

	buf_clear(out);
	if (chosen) {
		buf_put_str(out, chosen);
		return;
	}
	home = home ? home : "/";
	buf_printf(out, "%s/" OLD_NAME, home);
	if (buf_error(out) < 0 || stat(out->data, &st) == 0)
		return;
	buf_clear(out);
	if (xdg)
		buf_printf(out, "%s/" NAME, xdg);
	else
		buf_printf(out, "%s/.cache/" NAME, home);
}

static int check_folder(const char *path, bool is_last, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return err_errno(e, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "%s: is a link, or no folder", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return err_set(e, -EACCES, "%s: belongs to another user", path);
	if (st.st_mode & (S_IWGRP | S_IWOTH) && (is_last || !(st.st_mode & S_ISVTX)))
		return err_set(e, -EACCES, "%s: others can write to it", path);
	return 0;
}

/* The folders above path are checked, so that nobody else can replace it. */
static int make_folder(const char *path, bool is_last, struct err *e)
{
	if (mkdir(path, S_IRWXU) < 0 && errno != EEXIST)
		return err_errno(e, "%s", path);
	return check_folder(path, is_last, e);
}

int debuginfod_cache_make(const char *path, struct err *e)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	int rc;

	if (path[0] != '/' || len >= sizeof part)
		return err_set(e, -EINVAL, "%s: not an absolute path", path);
	rc = check_folder("/", false, e);
	for (size_t end = 1; rc == 0 && end < len; end++) {
		end += strcspn(path + end, "/");
		memcpy(part, path, end);
		part[end] = '\0';
		rc = make_folder(part, end + strspn(path + end, "/") == len, e);
	}
	return rc;
}
