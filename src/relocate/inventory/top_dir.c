/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/top_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "relocate/inventory/mounts.h"

void top_dir_close(struct top_dir *p)
{
	if (p->path && p->fd >= 0)
		close(p->fd);
	free(p->path);
	p->path = NULL;
	p->fd = -1;
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
	return 0;
}

static int identify_dir(struct top_dir *p, struct err *e)
{
	struct statx x;

	if (statx(p->fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &x) < 0)
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

int top_dir_open(struct top_dir *ret, const char *path, struct err *e)
{
	struct top_dir p = { .fd = -1 };

	p.path = realpath(path, NULL);
	if (!p.path)
		return err_errno(e, "%s", path);
	p.fd = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (p.fd < 0) {
		err_errno(e, "%s", p.path);
		free(p.path);
		return e->code;
	}
	if (identify_dir(&p, e) < 0) {
		top_dir_close(&p);
		return e->code;
	}
	*ret = p;
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
