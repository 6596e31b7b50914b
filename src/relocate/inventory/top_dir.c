/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/top_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/fd.h"
#include "relocate/inventory/mounts.h"

void top_dir_close(struct top_dir *p)
{
	if (!p->path)
		return;
	fd_close(&p->fd);
	fd_close(&p->parent_fd);
	fd_close(&p->mount_fd);
	free(p->path);
	*p = (struct top_dir){ .fd = -1, .parent_fd = -1, .mount_fd = -1 };
}

static int find_mount(struct top_dir *p, struct err *e)
{
	CLEANUP(mounts_fini) struct mounts all = { 0 };
	const struct mount *m;

	if (mounts_read(&all, 0, e) < 0)
		return e->code;
	m = mounts_find(&all, p->mnt_id);
	if (!m)
		return err_set(e, -ENOENT, "%s: mount not found in /proc/self/mountinfo", p->path);
	p->dev_major = m->dev_major;
	p->dev_minor = m->dev_minor;
	p->writes_at_close = mount_writes_at_close(m);
	p->is_fuse = strncmp(m->type, "fuse", 4) == 0;
	return 0;
}

static int identify_dir(struct top_dir *p, struct err *e)
{
	struct statx x;

	if (statx(p->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &x) < 0)
		return err_errno(e, "%s", p->path);
	if (!(x.stx_mask & STATX_MNT_ID))
		return err_set(e, -ENOSYS,
			       "the kernel does not report mount ids (statx of Linux 5.8)");
	p->ino = x.stx_ino;
	p->mnt_id = x.stx_mnt_id;
	p->st_dev_major = x.stx_dev_major;
	p->st_dev_minor = x.stx_dev_minor;
	p->is_mount_root = (x.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	return find_mount(p, e);
}

/* The path by which the kernel knows the directory, which may be moved at any time. */
static char *path_of(int fd)
{
	char link[32];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	return realpath(link, NULL);
}

static const char *name_of(const struct top_dir *p)
{
	return strrchr(p->path, '/') + 1;
}

/* A descriptor of what the parent has by the name of p: p itself, or what is below its mount. */
static int open_by_name(const struct top_dir *p)
{
	return openat(p->parent_fd, name_of(p), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_parent(struct top_dir *p, struct err *e)
{
	CLEANUP(fd_close) int again = -1;
	struct statx x;

	if (!*name_of(p))
		return 0;
	p->parent_fd = openat(p->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	again = p->parent_fd < 0 ? -1 : open_by_name(p);
	if (again < 0 ||
	    statx(again, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &x) < 0)
		return err_errno(e, "%s", p->path);
	if (x.stx_ino != p->ino || x.stx_mnt_id != p->mnt_id)
		return err_set(e, -EBUSY, "%s: is being renamed", p->path);
	return 0;
}

static int open_with(struct top_dir *ret, const char *path, int flags, struct err *e)
{
	struct top_dir p = { .parent_fd = -1, .mount_fd = -1 };

	p.fd = open(path, flags | O_DIRECTORY | O_CLOEXEC);
	if (p.fd < 0)
		return err_errno(e, "%s", path);
	p.path = path_of(p.fd);
	if (!p.path) {
		err_errno(e, "%s", path);
		close(p.fd);
		return e->code;
	}
	if (identify_dir(&p, e) < 0 || open_parent(&p, e) < 0) {
		top_dir_close(&p);
		return e->code;
	}
	*ret = p;
	return 0;
}

int top_dir_open(struct top_dir *ret, const char *path, struct err *e)
{
	return open_with(ret, path, O_RDONLY, e);
}

int top_dir_open_dead(struct top_dir *ret, const char *path, struct err *e)
{
	if (open_with(ret, path, O_PATH, e) < 0)
		return e->code;
	if (ret->is_mount_root)
		return 0;
	top_dir_close(ret);
	return err_set(e, -EINVAL, "%s: with --old-is-dead, OLD must be a mount point", path);
}

/* umount2(2) takes a path only: the working directory is the parent meanwhile. */
int top_dir_unmount(struct top_dir *p, bool is_dead, struct err *e)
{
	CLEANUP(fd_close) int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;

	fd_close(&p->fd);
	p->fd = -1;
	if (here < 0 || fchdir(p->parent_fd) < 0)
		return err_errno(e, "%s", p->path);
	if (umount2(name_of(p), UMOUNT_NOFOLLOW | (is_dead ? MNT_DETACH : 0)) < 0)
		rc = err_errno(e, "%s", p->path);
	if (fchdir(here) < 0 && rc == 0)
		rc = err_errno(e, "the working directory");
	return rc;
}

int top_dir_remove(const struct top_dir *p)
{
	return unlinkat(p->parent_fd, name_of(p), AT_REMOVEDIR) < 0 ? -errno : 0;
}

void top_dir_clone_mount(struct top_dir *p)
{
	int mount = (int)syscall(SYS_open_tree, p->fd, "",
				 AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int fd = mount < 0 ? -1 : openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		fd_close(&mount);
		return;
	}
	close(p->fd);
	p->fd = fd;
	p->mount_fd = mount;
}

int top_dir_cover(const struct top_dir *p, const struct top_dir *from, struct err *e)
{
	CLEANUP(fd_close) int target = open_by_name(p);
	char source_path[32], target_path[32];

	if (target < 0)
		return err_errno(e, "%s", p->path);
	if (from->mount_fd >= 0)
		return syscall(SYS_move_mount, from->mount_fd, "", target, "",
			       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
			       ? err_errno(e, "%s", p->path)
			       : 0;
	snprintf(source_path, sizeof source_path, "/proc/self/fd/%d", from->fd);
	snprintf(target_path, sizeof target_path, "/proc/self/fd/%d", target);
	if (mount(source_path, target_path, NULL, MS_BIND, NULL) < 0)
		return err_errno(e, "%s", p->path);
	return 0;
}

int top_dir_open_new(struct top_dir *ret, const char *path, struct err *e)
{
	bool was_made = mkdir(path, 0700) == 0;

	if (!was_made && errno != EEXIST)
		return err_errno(e, "%s", path);
	if (top_dir_open(ret, path, e) < 0) {
		if (was_made)
			rmdir(path);
		return e->code;
	}
	ret->was_made = was_made;
	return 0;
}

const char *path_below(const char *top, const char *path)
{
	size_t len = strlen(top);

	if (len == 1)
		return path[0] == '/' ? path + 1 : NULL;
	if (strncmp(path, top, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return path + len;
	return path[len] == '/' ? path + len + 1 : NULL;
}

const char *top_dir_below(const struct top_dir *p, const char *path)
{
	return path_below(p->path, path);
}
