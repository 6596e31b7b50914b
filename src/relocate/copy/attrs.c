/* SPDX-License-Identifier: MIT */
/*
 * An O_PATH descriptor takes no fsetxattr(2), so attributes are set through /proc/self/fd; opening
 * a FIFO to set them would block. Of a symbolic link only owner and times are copied, because it
 * has no mode.
 */
#include "relocate/copy/attrs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "target/proc.h"

#define XATTR_MAX 65536 /* bytes of a value and of the list of names: linux/limits.h */

static void link_of(int fd, char path[PROC_PATH])
{
	snprintf(path, PROC_PATH, "/proc/self/fd/%d", fd);
}

/* Attributes that belong to a storage or to the machine, not to the file. */
static bool is_private(const char *name)
{
	return strncmp(name, "system.nfs4", 11) == 0 || strncmp(name, "lustre.", 7) == 0 ||
	       strcmp(name, "trusted.lov") == 0 || strcmp(name, "security.selinux") == 0;
}

static int copy_attr(const char *from, const char *to, const char *name, char *value, struct err *e)
{
	ssize_t len = getxattr(from, name, value, XATTR_MAX);

	if (len < 0)
		return errno == ENODATA ? 0 : err_errno(e, "attribute %s", name);
	if (setxattr(to, name, value, (size_t)len, 0) < 0)
		return err_errno(e, "attribute %s", name);
	return 0;
}

static bool has_name(const char *names, ssize_t len, const char *name)
{
	for (const char *at = names; at < names + len; at += strlen(at) + 1)
		if (strcmp(at, name) == 0)
			return true;
	return false;
}

/* The link is slower; only O_PATH descriptors need it. */
static ssize_t list_names(int fd, const char *link, char *names)
{
	ssize_t len = flistxattr(fd, names, XATTR_MAX);

	return len < 0 && errno == EBADF ? listxattr(link, names, XATTR_MAX) : len;
}

/* Removes attributes that NEW's file has inherited and OLD's has not. */
static int remove_others(int fd, const char *to, const char *names, ssize_t len, char *theirs,
			 struct err *e)
{
	ssize_t n = list_names(fd, to, theirs);

	for (const char *at = theirs; n > 0 && at < theirs + n; at += strlen(at) + 1)
		if (!has_name(names, len, at) && !is_private(at) && removexattr(to, at) < 0 &&
		    errno != ENODATA)
			return err_errno(e, "attribute %s", at);
	return 0;
}

static int copy_xattrs(const struct file_pair *pair, const char *from, const char *to,
		       struct err *e)
{
	CLEANUP(buf_fini) struct buf buffer = { 0 };
	char *names = buf_reserve(&buffer, 2 * XATTR_MAX),
	     *value = names ? names + XATTR_MAX : NULL;
	ssize_t len;

	if (!names)
		return err_nomem(e);
	len = list_names(pair->from, from, names);
	if (len < 0 && errno != EOPNOTSUPP)
		return err_errno(e, "attributes");
	len = len < 0 ? 0 : len;
	for (const char *at = names; at < names + len; at += strlen(at) + 1)
		if (!is_private(at) && copy_attr(from, to, at, value, e) < 0)
			return e->code;
	return remove_others(pair->to, to, names, len, value, e);
}

/* Each attribute is saved as its name with a NUL, the length of its value, and the value. */
int attrs_save(int dir, struct buf *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf buffer = { 0 };
	char *names = buf_reserve(&buffer, 2 * XATTR_MAX),
	     *value = names ? names + XATTR_MAX : NULL;
	ssize_t len = names ? flistxattr(dir, names, XATTR_MAX) : 0;

	for (const char *at = names; len > 0 && at < names + len; at += strlen(at) + 1) {
		ssize_t n = is_private(at) ? -1 : fgetxattr(dir, at, value, XATTR_MAX);

		if (n < 0)
			continue;
		buf_put(ret, at, strlen(at) + 1);
		buf_put_u32(ret, (uint32_t)n);
		buf_put(ret, value, (size_t)n);
	}
	return !names || buf_error(ret) < 0 ? err_nomem(e) : 0;
}

int attrs_restore(int dir, const struct buf *saved, struct err *e)
{
	CLEANUP(buf_fini) struct buf buffer = { 0 };
	struct cursor left = cursor_make(saved->data, saved->len);
	char *names = buf_reserve(&buffer, XATTR_MAX);
	ssize_t len = names ? flistxattr(dir, names, XATTR_MAX) : 0;
	const char *name;
	size_t ignored;

	if (!names)
		return err_nomem(e);
	for (const char *at = names; len > 0 && at < names + len; at += strlen(at) + 1)
		if (!is_private(at))
			(void)fremovexattr(dir, at);
	while (cursor_left(&left) && (name = cursor_cstr(&left, &ignored))) {
		uint32_t n = cursor_u32(&left);

		if (fsetxattr(dir, name, cursor_bytes(&left, n), n, 0) < 0)
			return err_errno(e, "attribute %s", name);
	}
	return 0;
}

static struct timespec to_time(const struct statx_timestamp *t)
{
	return (struct timespec){ t->tv_sec, t->tv_nsec };
}

int attrs_set_times(int to, const struct statx *x)
{
	const struct timespec times[] = { to_time(&x->stx_atime), to_time(&x->stx_mtime) };
	char path[PROC_PATH];
	int rc = utimensat(to, "", times, AT_EMPTY_PATH);

	if (rc == 0 || errno != EINVAL || S_ISLNK(x->stx_mode))
		return rc;
	link_of(to, path); /* kernels before 5.8 have no AT_EMPTY_PATH here */
	return utimensat(AT_FDCWD, path, times, 0);
}

/* Skips an owner that is correct, because setting it would write to the file system. */
static int set_owner(int to, const struct statx *x, struct err *e)
{
	struct statx is;

	if (statx(to, "", AT_EMPTY_PATH, STATX_UID | STATX_GID, &is) == 0 &&
	    is.stx_uid == x->stx_uid && is.stx_gid == x->stx_gid)
		return 0;
	if (fchownat(to, "", x->stx_uid, x->stx_gid, AT_EMPTY_PATH) < 0)
		return err_errno(e, "set the owner");
	return 0;
}

static int set_mode(int fd, const char *to, const struct statx *x, struct err *e)
{
	struct stat is;

	if (fstat(fd, &is) == 0 && ((is.st_mode ^ x->stx_mode) & 07777) == 0)
		return 0;
	return chmod(to, x->stx_mode & 07777) < 0 ? err_errno(e, "set the mode") : 0;
}

int attrs_copy(const struct file_pair *pair, const struct statx *x, struct err *e)
{
	char from[PROC_PATH], to[PROC_PATH];

	link_of(pair->from, from);
	link_of(pair->to, to);
	if (set_owner(pair->to, x, e) < 0)
		return e->code;
	if (!S_ISLNK(x->stx_mode) &&
	    (copy_xattrs(pair, from, to, e) < 0 || set_mode(pair->to, to, x, e) < 0))
		return e->code;
	if (attrs_set_times(pair->to, x) < 0)
		return err_errno(e, "set the times");
	return 0;
}
