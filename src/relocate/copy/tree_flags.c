/* SPDX-License-Identifier: MIT */
/*
 * Flags of inodes (chattr) and project ids. Append-only and immutable files are made so in the very
 * end, since nothing could be written to them; what storage does not have is left out, and told
 * once.
 * Source: ioctl_iflags(2); FS_IOC_FSSETXATTR of linux/fs.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "relocate/copy/tree.h"
#include "target/proc.h"

/* Those that mean the same everywhere, and are somebody's wish. */
#define KEPT                                                                                      \
	(FS_SYNC_FL | FS_DIRSYNC_FL | FS_NODUMP_FL | FS_NOATIME_FL | FS_NOCOMP_FL | FS_COMPR_FL | \
	 FS_NOTAIL_FL | FS_UNRM_FL | FS_SECRM_FL | FS_TOPDIR_FL)
#define LATE (FS_APPEND_FL | FS_IMMUTABLE_FL)

static int open_again(int path_fd)
{
	char path[PROC_PATH];

	snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

void tree_read_flags(int fd, struct tree_flags *ret)
{
	struct fsxattr x = { 0 };
	int flags = 0;

	*ret = (struct tree_flags){ 0 };
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0)
		ret->flags = (uint32_t)flags;
	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) == 0)
		ret->project = x.fsx_projid;
}

static int set_flags(int fd, uint32_t is, uint32_t wanted)
{
	int flags = (int)wanted;

	return is == wanted || ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0 ? 0 : -errno;
}

static int set_project(int fd, uint32_t is, uint32_t wanted)
{
	struct fsxattr x = { 0 };

	if (is == wanted)
		return 0;
	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0)
		return -errno;
	x.fsx_projid = wanted;
	return ioctl(fd, FS_IOC_FSSETXATTR, &x) < 0 ? -errno : 0;
}

void tree_put_back_flags(int fd, const struct tree_flags *saved)
{
	struct tree_flags is;

	tree_read_flags(fd, &is);
	(void)set_flags(fd, is.flags, saved->flags);
	(void)set_project(fd, is.project, saved->project);
}

static bool is_missing(int rc)
{
	return rc == -EOPNOTSUPP || rc == -ENOTTY || rc == -EINVAL || rc == -EPERM;
}

/* What NEW cannot have does not stop the move. */
static int forgive(struct copy *c, int rc, const char *what, struct err *e)
{
	if (rc == 0)
		return 0;
	if (!is_missing(rc))
		return err_set(e, rc, "setting %s: %s", what, strerror(-rc));
	if (!c->is_flag_missing)
		log_msg(LOG_WARN, "relocate", "NEW does not take all %s that files of OLD have: %s",
			what, strerror(-rc));
	c->is_flag_missing = true;
	return 0;
}

int tree_copy_flags(struct copy *c, const struct tree_pair *pair, uint32_t *ret_late, struct err *e)
{
	struct tree_flags old, new;
	int to = pair->to, rc;

	tree_read_flags(pair->from, &old);
	tree_read_flags(to, &new);
	*ret_late = old.flags & LATE;
	/* A project that the folder of NEW gave it stays, where OLD has none. */
	rc = forgive(c, set_project(to, new.project, old.project ? old.project : new.project),
		     "project ids", e);
	if (rc < 0)
		return rc;
	return forgive(
		c,
		set_flags(to, new.flags,
			  (new.flags & ~(uint32_t)KEPT) | (old.flags & (KEPT | FS_PROJINHERIT_FL))),
		"flags (chattr)", e);
}

static int set_late(struct copy *c, const struct tree_node *n, struct err *e)
{
	const char *path = strtab_get(c->paths, n->entry).ptr, *name;
	CLEANUP(fd_close) int dir = tree_open_parent(c, path, &name);
	CLEANUP(fd_close)
	int fd = dir < 0 ? dir : tree_open(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	struct tree_flags is;

	if (fd < 0)
		return err_set(e, fd, "/%s: in NEW: %s", path, strerror(-fd));
	tree_read_flags(fd, &is);
	return forgive(c, set_flags(fd, is.flags, is.flags | n->late_flags), "flags (chattr)", e) <
			       0
		       ? err_wrap(e, "/%s", path)
		       : 0;
}

int tree_set_late_flags(struct copy *c, struct err *e)
{
	const uint32_t *rows = c->late.data;

	for (size_t i = 0; i < c->late.count; i++) {
		const struct tree_node *n = (struct tree_node *)c->nodes.data + rows[i];

		if (n->late_flags && n->entry != RELOC_NONE && set_late(c, n, e) < 0)
			return e->code;
	}
	return 0;
}

static void thaw(int fd)
{
	struct tree_flags is;

	tree_read_flags(fd, &is);
	(void)set_flags(fd, is.flags, is.flags & ~(uint32_t)LATE);
}

void tree_thaw(int dir, const char *name)
{
	CLEANUP(fd_close) int above = open_again(dir);
	int fd;

	if (above >= 0)
		thaw(above);
	fd = tree_open(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	if (fd >= 0)
		thaw(fd);
	fd_close(&fd);
}
