/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/file.h"
#include "relocate/repoint/repoint_internal.h"
#include "target/proc.h"

/* Reads the fourth number of a status line: the file system id. */
static bool read_fs_id(const char *text, const char *key, uint32_t *ret)
{
	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), "%*u %*u %*u %u", ret) == 1;
}

static int read_groups(struct credentials *id, const char *text, struct err *e)
{
	const char *at = strstr(text, "\nGroups:");
	char *end;

	for (at = at ? at + 8 : ""; *at && *at != '\n'; at = end) {
		unsigned long gid = strtoul(at, &end, 10);
		gid_t *row;

		if (end == at)
			break;
		row = rows_add(&id->groups, sizeof *row);
		if (!row)
			return err_nomem(e);
		*row = (gid_t)gid;
		while (*end == ' ')
			end++;
	}
	return 0;
}

static int read_credentials(pid_t pid, struct credentials *id, struct err *e)
{
	char path[PROC_PATH];
	CLEANUP(file_input_fini) struct file_input r = { 0 };

	if (id->pid == pid)
		return 0;
	id->pid = 0;
	id->groups.count = 0;
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if (file_load(path, &r, e) < 0)
		return e->code;
	if (!r.len || !read_fs_id((const char *)r.data, "\nUid:", &id->uid) ||
	    !read_fs_id((const char *)r.data, "\nGid:", &id->gid))
		return err_set(e, -EINVAL, "%s: no user and group ids", path);
	if (read_groups(id, (const char *)r.data, e) < 0)
		return e->code;
	id->pid = pid;
	return 0;
}

/* Changing the file system user drops capabilities from the effective set. This restores them, so
 * that we can still open any file. */
static int raise_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_LEN(data); i++)
		data[i].effective = data[i].permitted;
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/* For this thread alone: setgroups(3) of libc would change all threads. */
static int set_credentials(const struct credentials *id)
{
	if (syscall(SYS_setgroups, id->groups.count, id->groups.data) < 0)
		return -errno;
	setfsgid(id->gid);
	setfsuid(id->uid);
	return raise_capabilities();
}

static int open_as(const struct credentials *id, int dir, const char *path, unsigned flags)
{
	struct open_how how = {
		.flags = flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	gid_t groups[1024];
	struct credentials own = { .uid = geteuid(), .gid = getegid() };
	bool is_own = id->uid == own.uid && id->gid == own.gid;
	int count, fd, rc = 0;

	if (!is_own) {
		count = getgroups(ARRAY_LEN(groups), groups);
		own.groups.data = groups;
		own.groups.count = count > 0 ? (size_t)count : 0;
		rc = set_credentials(id);
	}
	fd = rc < 0 ? rc : compat_openat2(dir, path, &how);
	if (fd < 0 && rc == 0)
		fd = -errno;
	if (!is_own)
		(void)!set_credentials(&own);
	return fd;
}

int repoint_keep_fd(struct repoint *rp, int fd, struct err *e)
{
	int *row = rows_add(&rp->ours, sizeof *row);

	if (!row) {
		close(fd);
		return err_nomem(e);
	}
	*row = fd;
	return fd;
}

/* Opens NEW by the path that the process has for it. */
static int open_new_dir(const struct repoint *rp, const struct reloc_proc *p, struct err *e)
{
	const struct top_dir *new = rp->new_dir;
	char path[PROC_PATH + PATH_MAX];
	struct statx x;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/root%s", (int)p->pid, p->new_path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "%s", path);
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO, &x) == 0 && x.stx_ino == new->ino &&
	    x.stx_dev_major == new->st_dev_major &&x.stx_dev_minor == new->st_dev_minor)
		return fd;
	close(fd);
	return err_set(e, -ESTALE, "%s is no longer %s", path, new->path);
}

int repoint_open_file(struct repoint *rp, const struct reloc_file *f, uint32_t proc, unsigned flags,
		      struct err *e)
{
	const struct reloc_proc *p = &rp->inventory->procs[proc];
	int fd, dir = rp->new_dir->fd;

	if (read_credentials(p->pid, &rp->id, e) < 0)
		return e->code;
	if (p->new_path)
		dir = open_new_dir(rp, p, e);
	if (dir < 0)
		return dir;
	fd = open_as(&rp->id, dir, f->new_path[0] ? f->new_path : ".", flags | O_CLOEXEC);
	if (dir != rp->new_dir->fd)
		close(dir);
	if (fd < 0)
		return err_set(e, fd, "%s/%s, for process %d (%s): %s", rp->new_dir->path,
			       f->new_path, (int)p->pid, p->comm, strerror(-fd));
	return repoint_keep_fd(rp, fd, e);
}

/* The flags for open(2) from those of fdinfo. O_TMPFILE is dropped: these files have a name until
 * the commit. */
static unsigned flags_to_open(const struct reloc_desc *d, const struct reloc_file *f)
{
	const unsigned tmpfile = O_TMPFILE & ~O_DIRECTORY;
	unsigned flags =
		d->flags & ~((unsigned)O_CLOEXEC | O_CREAT | O_EXCL | O_TRUNC | O_NOCTTY | tmpfile |
			     O_DIRECTORY | 0100000 /* O_LARGEFILE, which the kernel always sets */);

	if (flags & O_PATH)
		flags &= (unsigned)O_PATH | O_NOFOLLOW;
	return S_ISDIR(f->mode) ? flags | (d->flags & O_DIRECTORY) : flags;
}

/* Reads a directory to its end, because the positions of directories differ between file systems.
 */
static int read_to_end(int fd)
{
	char entries[32768];
	long n;

	do {
		n = syscall(SYS_getdents64, fd, entries, sizeof entries);
	} while (n > 0);
	return n < 0 ? -errno : 0;
}

static int set_position(int fd, const struct reloc_desc *d, const struct reloc_file *f)
{
	if (d->flags & O_PATH || (!S_ISREG(f->mode) && !S_ISDIR(f->mode)))
		return 0;
	if (S_ISDIR(f->mode))
		return d->pos ? read_to_end(fd) : 0;
	return d->pos && lseek(fd, (off_t)d->pos, SEEK_SET) < 0 ? -errno : 0;
}

/* Takes the locks that belong to the description, not to a process. */
static int take_locks(const struct repoint *rp, uint32_t desc, int fd)
{
	const struct reloc_inventory *s = rp->inventory;

	for (size_t i = 0; i < s->lock_count; i++) {
		const struct reloc_lock *l = &s->locks[i];
		struct flock range = repoint_lock_range(l);

		if (l->desc != desc || l->stays || l->kind == RELOC_LOCK_POSIX)
			continue;
		if (l->kind == RELOC_LOCK_FLOCK
			    ? flock(fd, (l->is_write ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0
			    : fcntl(fd, F_OFD_SETLK, &range) < 0)
			return -errno;
	}
	return 0;
}

static int open_desc(struct repoint *rp, uint32_t desc, struct err *e)
{
	const struct reloc_inventory *s = rp->inventory;
	const struct reloc_desc *d = &s->descs[desc];
	const struct reloc_file *f = &s->files[d->file];
	int fd, rc;

	if (S_ISFIFO(f->mode) && !(d->flags & O_PATH))
		return repoint_open_fifo(rp, desc, e);
	fd = repoint_open_file(rp, f, s->fds[d->first].proc, flags_to_open(d, f), e);
	if (fd < 0)
		return fd;
	rc = set_position(fd, d, f);
	if (rc == 0)
		rc = take_locks(rp, desc, fd);
	if (rc < 0)
		return err_set(e, rc, "%s/%s: position or lock: %s", rp->new_dir->path, f->new_path,
			       strerror(-rc));
	return fd;
}

int repoint_open_descs(struct repoint *rp, struct err *e)
{
	const struct reloc_inventory *s = rp->inventory;

	rp->desc_fds = malloc((s->desc_count + 1) * sizeof *rp->desc_fds);
	if (!rp->desc_fds)
		return err_nomem(e);
	for (size_t i = 0; i < s->desc_count; i++)
		rp->desc_fds[i] = -1;
	for (size_t i = 0; i < s->desc_count; i++) {
		if (s->descs[i].stays)
			continue;
		rp->desc_fds[i] = open_desc(rp, (uint32_t)i, e);
		if (rp->desc_fds[i] < 0)
			return e->code;
	}
	return 0;
}
