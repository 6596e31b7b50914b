/* SPDX-License-Identifier: MIT */
/*
 * Inode flags (chattr) and project ids. Nobody can write to append-only and immutable files, so
 * those flags are set last. Flags that NEW's storage lacks are skipped with one warning.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "relocate/copy/copy_internal.h"

/* Flags that a user sets and that mean the same on all file systems. */
#define KEPT                                                                                      \
	(FS_SYNC_FL | FS_DIRSYNC_FL | FS_NODUMP_FL | FS_NOATIME_FL | FS_NOCOMP_FL | FS_COMPR_FL | \
	 FS_NOTAIL_FL | FS_UNRM_FL | FS_SECRM_FL | FS_TOPDIR_FL)

static bool is_missing(int rc)
{
	return rc == -EOPNOTSUPP || rc == -ENOTTY || rc == -EINVAL || rc == -EPERM;
}

/* A flag that NEW does not support does not stop the move. */
static int tolerate_unsupported(struct copy *c, int rc, const char *what, struct err *e)
{
	if (rc == 0)
		return 0;
	if (!is_missing(rc))
		return err_set(e, rc, "set %s: %s", what, strerror(-rc));
	if (!c->is_flag_missing)
		log_msg(LOG_WARN, "relocate", "NEW does not support all %s of OLD's files: %s",
			what, strerror(-rc));
	c->is_flag_missing = true;
	return 0;
}

int tree_copy_flags(struct copy *c, const struct file_pair *pair, uint32_t *ret_late, struct err *e)
{
	struct inode_flags old, new;
	int to = pair->to, rc;

	inode_flags_read(pair->from, &old);
	inode_flags_read(to, &new);
	*ret_late = old.flags & INODE_FLAGS_LATE;
	/* Where OLD has no project, the one inherited from NEW's directory stays. */
	rc = tolerate_unsupported(
		c,
		inode_flags_set_project(to, new.project, old.project ? old.project : new.project),
		"project ids", e);
	if (rc < 0)
		return rc;
	return tolerate_unsupported(
		c,
		inode_flags_set(to, new.flags,
				(new.flags & ~(uint32_t)KEPT) |
					(old.flags & (KEPT | FS_PROJINHERIT_FL))),
		"flags (chattr)", e);
}

static int set_late(struct copy *c, const struct tree_node *n, struct err *e)
{
	const char *path = strtab_get(c->paths, n->entry).ptr, *name;
	CLEANUP(fd_close) int dir = tree_open_parent(c, path, &name);
	CLEANUP(fd_close)
	int fd = dir < 0 ? dir : open_beneath(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	struct inode_flags is;

	if (fd < 0)
		return err_set(e, fd, "/%s: in NEW: %s", path, strerror(-fd));
	inode_flags_read(fd, &is);
	return tolerate_unsupported(c, inode_flags_set(fd, is.flags, is.flags | n->late_flags),
				    "flags (chattr)", e) < 0
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
