/* SPDX-License-Identifier: MIT */
#include "cachefs/store/local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/fd.h"
#include "cachefs/store/open_files.h"

/* lookup_names runs ahead of requests, so it must stay cheap: a call may take NAMES_NS, and NAME_NS
 * more for each name. Measured: fstatat(2) of a cached inode takes 1.6 us, a tenth of NAME_NS.
 * Storage that exceeds this gets no such call for PAUSE_NS. */
#define NAMES_NS (3 * NS_PER_S / 10000)
#define NAME_NS (NS_PER_S / 50000)
#define PAUSE_NS (NS_PER_S / 10)
#define OPEN_FILES 512 /* that are being read, kept open at most */
#define DEVICES 64     /* whose file system's type is remembered */
#define XATTR_TRIES 8  /* a value may grow between the call for its size and the read */

struct local {
	int root;                                       /* O_PATH */
	dev_t device;                                   /* of root; as name_file() has it */
	char *hidden;                                   /* path below root; NULL: none */
	dev_t hidden_device;                            /* 0: none */
	uint64_t (*fs_of)(void *context, dev_t device); /* NULL: devices keep their numbers */
	void *fs_context;
	_Atomic int64_t slow_until_ns; /* no lookup_names before; CLOCK_MONOTONIC */
	struct open_files *files;      /* that are being read */
	pthread_mutex_t devices_lock;
	struct {
		dev_t device;
		enum dirlist_unlisted unlisted;
	} devices[DEVICES];     /* [devices_count % DEVICES] is the next; under devices_lock */
	unsigned devices_count; /* under devices_lock */
};

/* A descriptor, or -errno. flags: of open(2). It follows no links. */
static int open_path(const struct local *l, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
				.resolve = RESOLVE_NO_SYMLINKS };
	int fd = compat_openat2(l->root, *path ? path : ".", &how);

	if (fd >= 0)
		return fd;
	return errno == ELOOP ? -ESTALE : -errno; /* ELOOP: a folder became a link */
}

static uint64_t number_of(const struct local *l, dev_t device, ino_t ino)
{
	uint64_t mixed;

	if (device == l->device)
		return ino;
	mixed = (ino ^ (uint64_t)device << 40 ^ (uint64_t)device >> 24) * 0x9e3779b97f4a7c15u;
	return (mixed ^ mixed >> 29) | (uint64_t)1 << 63;
}

static dev_t name_device(const struct local *l, dev_t device)
{
	return l->fs_of ? (dev_t)l->fs_of(l->fs_context, device) : device;
}

/* Makes st_dev and st_ino what replies have. */
static void name_file(const struct local *l, struct stat *st)
{
	st->st_dev = name_device(l, st->st_dev);
	st->st_ino = number_of(l, st->st_dev, st->st_ino);
}

static bool is_hidden(const struct local *l, const char *path)
{
	return l->hidden && strcmp(l->hidden, path) == 0;
}

static int lookup(void *self, const char *path, struct stat *ret)
{
	const struct local *l = self;
	CLEANUP(fd_close) int fd = -1;
	struct stat st;

	if (is_hidden(l, path))
		return -ENOENT;
	fd = open_path(l, path, O_PATH);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (l->hidden_device && st.st_dev == l->hidden_device)
		return -ENOENT;
	name_file(l, &st);
	*ret = st;
	return 0;
}

/* Is the entry of the folder at path the hidden one? */
static bool hides(const struct local *l, const char *path, const char *name)
{
	size_t len = strlen(path);

	if (!l->hidden || strncmp(l->hidden, path, len) != 0)
		return false;
	if (len && l->hidden[len] != '/')
		return false;
	return strcmp(l->hidden + len + (len ? 1 : 0), name) == 0;
}

static int lookup_at(const struct local *l, int folder, const char *name, struct stat *ret)
{
	if (fstatat(folder, name, ret, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return -errno;
	if (l->hidden_device && ret->st_dev == l->hidden_device)
		return -ENOENT;
	name_file(l, ret);
	return 0;
}

static int lookup_names(void *self, const char *path, const struct dirlist *names, size_t from,
			size_t count, struct stat *ret, int *ret_rc, size_t *ret_count)
{
	struct local *l = self;
	int64_t now_ns = clock_mono_ns(), until_ns = now_ns + NAMES_NS;
	CLEANUP(fd_close) int fd = -1;

	*ret_count = 0;
	if (now_ns < l->slow_until_ns)
		return 0;
	fd = open_path(l, path, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return fd;
	for (size_t i = 0; i < count && now_ns < until_ns; i++) {
		const char *name = dirlist_name(names, from + i);

		ret_rc[i] = hides(l, path, name) ? -ENOENT : lookup_at(l, fd, name, &ret[i]);
		*ret_count = i + 1;
		now_ns = clock_mono_ns();
		until_ns += NAME_NS;
	}
	if (now_ns >= until_ns)
		l->slow_until_ns = now_ns + PAUSE_NS;
	return 0;
}

/* File systems whose listings have all names, but for some that begin with a dot. Others make names
 * when they are looked up (autofs, /proc, some of FUSE), or are not known. Source: statfs(2),
 * linux/magic.h, and the sources of Lustre, GPFS, BeeGFS, XFS and ZFS for theirs. */
static bool lists_all(long type)
{
	static const long types[] = {
		0xef53 /* ext4 */,         0x58465342 /* xfs */,       0x9123683e /* btrfs */,
		0x01021994 /* tmpfs */,    0x6969 /* nfs */,           0x0bd00bd0 /* lustre */,
		0x47504653 /* gpfs */,     0x19830326 /* beegfs */,    0x2fc12fc1 /* zfs */,
		0x73717368 /* squashfs */, 0x794c7630 /* overlayfs */, 0xe0f5e1e2 /* erofs */,
		0xf2f52010 /* f2fs */,     0x858458f6 /* ramfs */,     0x9660 /* iso9660 */,
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (type == types[i])
			return true;
	return false;
}

/* Asks once for each device: statfs(2) is a request to every server of some file systems. */
static enum dirlist_unlisted unlisted_on(struct local *l, int fd, dev_t device)
{
	enum dirlist_unlisted unlisted = UNLISTED_ANY;
	struct statfs fs;
	bool is_found = false;

	pthread_mutex_lock(&l->devices_lock);
	for (unsigned i = 0; i < l->devices_count && i < DEVICES && !is_found; i++) {
		is_found = l->devices[i].device == device;
		if (is_found)
			unlisted = l->devices[i].unlisted;
	}
	pthread_mutex_unlock(&l->devices_lock);
	if (is_found || fstatfs(fd, &fs) < 0)
		return unlisted;
	unlisted = lists_all((long)fs.f_type) ? UNLISTED_DOT : UNLISTED_ANY;
	pthread_mutex_lock(&l->devices_lock);
	l->devices[l->devices_count % DEVICES].device = device;
	l->devices[l->devices_count++ % DEVICES].unlisted = unlisted;
	pthread_mutex_unlock(&l->devices_lock);
	return unlisted;
}

static int add_entries(struct local *l, const char *path, DIR *dir, size_t max_entries,
		       struct dirlist *out)
{
	struct stat st;

	if (fstat(dirfd(dir), &st) < 0)
		return -errno;
	dirlist_set_unlisted(out, unlisted_on(l, dirfd(dir), st.st_dev));
	st.st_dev = name_device(l, st.st_dev);
	for (;;) {
		const struct dirent *entry;
		int rc;

		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return -errno;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
			dirlist_set_dot(out, strlen(entry->d_name) - 1, entry->d_ino);
			continue;
		}
		if (hides(l, path, entry->d_name))
			continue;
		if (dirlist_count(out) == max_entries)
			return -E2BIG;
		rc = dirlist_add(out, entry->d_name, number_of(l, st.st_dev, entry->d_ino),
				 entry->d_type);
		if (rc < 0)
			return rc;
	}
}

static int list(void *self, const char *path, size_t max_entries, struct dirlist **ret)
{
	struct local *l = self;
	int fd = open_path(l, path, O_RDONLY | O_DIRECTORY), rc;
	struct dirlist *out;
	DIR *dir;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		rc = -errno;
		close(fd);
		return rc;
	}
	out = dirlist_new();
	rc = out ? add_entries(l, path, dir, max_entries, out) : -ENOMEM;
	closedir(dir);
	if (rc < 0) {
		dirlist_unref(out);
		return rc;
	}
	dirlist_seal(out);
	*ret = out;
	return 0;
}

static struct stat with_number(const struct local *l, const struct stat *st)
{
	struct stat ret = *st;

	name_file(l, &ret);
	return ret;
}

static bool is_same(const struct stat *now, const struct stat *then)
{
	return now->st_ino == then->st_ino && now->st_dev == then->st_dev &&
	       now->st_size == then->st_size && now->st_ctim.tv_sec == then->st_ctim.tv_sec &&
	       now->st_ctim.tv_nsec == then->st_ctim.tv_nsec;
}

static int open_to_read(void *self, const char *path)
{
	return open_path(self, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/* Of a file with fewer blocks than its size needs. Others may have unwritten parts, but a lookup of
 * them is a request to most parallel file systems. */
static bool is_hole(int fd, const struct stat *st, uint64_t offset, size_t len)
{
	off_t data;

	if (st->st_blocks >= (st->st_size + 511) / 512)
		return false;
	data = lseek(fd, (off_t)offset, SEEK_DATA);
	return data < 0 ? errno == ENXIO : (uint64_t)data >= offset + len;
}

static int read_bytes(int fd, uint64_t offset, void *into, size_t len, size_t *ret_len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)into + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*ret_len = done;
	return 0;
}

/* Also GFS2 and OCFS2 are on block devices, but other machines write there, too. Source: statfs(2),
 * linux/magic.h. */
static bool has_our_clock(int fd, dev_t device)
{
	struct statfs fs;

	return major(device) && fstatfs(fd, &fs) == 0 && fs.f_type != 0x01161970 /* gfs2 */ &&
	       fs.f_type != 0x7461636f /* ocfs2 */;
}

static int read_open(const struct local *l, const struct open_file *file, const struct stat *same,
		     uint64_t offset, void *into, size_t len, struct storage_read *ret)
{
	uint64_t left = (uint64_t)same->st_size > offset ? (uint64_t)same->st_size - offset : 0;
	int rc = 0;

	ret->before = with_number(l, &file->attr);
	if (!is_same(&ret->before, same))
		return -ESTALE;
	ret->len = left < len ? (size_t)left : len;
	ret->has_our_clock = has_our_clock(file->fd, file->attr.st_dev);
	ret->is_hole = is_hole(file->fd, &ret->before, offset, ret->len);
	if (!ret->is_hole)
		rc = read_bytes(file->fd, offset, into, len, &ret->len);
	if (rc == 0 && fstat(file->fd, &ret->after) < 0)
		rc = -errno;
	if (rc < 0)
		return rc;
	ret->after = with_number(l, &ret->after);
	return is_same(&ret->after, same) ? 0 : -ESTALE; /* did it change during the read? */
}

/* A descriptor of an earlier read may be stale: then the file is opened again, once. */
static int read_chunk(void *self, const char *path, const struct stat *same, uint64_t offset,
		      void *into, size_t len, struct storage_read *ret)
{
	struct local *l = self;

	for (int tries = 0;; tries++) {
		struct open_file file;
		struct storage_read got;
		int rc = open_files_get(l->files, path, &file);

		if (rc < 0)
			return rc == -ENOENT ? -ESTALE : rc;
		rc = read_open(l, &file, same, offset, into, len, &got);
		if (rc == 0) {
			open_files_put(l->files, &file, got.len);
			*ret = got;
			return 0;
		}
		open_files_drop(l->files, &file);
		if (file.is_new || tries || (rc != -ESTALE && rc != -EIO))
			return rc;
	}
}

static int read_link(void *self, const char *path, struct buf *ret)
{
	CLEANUP(fd_close) int fd = open_path(self, path, O_PATH);
	char text[PATH_MAX];
	ssize_t n;

	if (fd < 0)
		return fd;
	n = readlinkat(fd, "", text, sizeof text);
	if (n < 0)
		return -errno;
	buf_put(ret, text, (size_t)n);
	return buf_error(ret);
}

static ssize_t get_xattr(const char *path, const char *name, void *into, size_t len)
{
	return name ? lgetxattr(path, name, into, len) : llistxattr(path, into, len);
}

/*
 * Goes through the parent's descriptor in /proc, so that it follows no links in the path, and reads
 * the attributes of a link at its end. Source: proc(5), /proc/pid/fd.
 */
static int xattr(void *self, const char *path, const char *name, struct buf *ret)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);
	CLEANUP(fd_close) int fd = parent ? open_path(self, parent, O_PATH | O_DIRECTORY) : -ENOMEM;
	char at[64 + NAME_MAX];

	free(parent);
	if (fd < 0)
		return fd;
	snprintf(at, sizeof at, "/proc/self/fd/%d/%s", fd, *last ? last : ".");
	for (int i = 0; i < XATTR_TRIES; i++) {
		ssize_t len = get_xattr(at, name, NULL, 0);
		void *room;

		if (len <= 0)
			return len < 0 ? -errno : 0;
		room = buf_reserve(ret, (size_t)len);
		if (!room)
			return -ENOMEM;
		len = get_xattr(at, name, room, (size_t)len);
		if (len >= 0) {
			buf_grew(ret, (size_t)len);
			return 0;
		}
		if (errno != ERANGE)
			return -errno;
	}
	return -ERANGE;
}

static int seek(void *self, const char *path, uint64_t offset, int whence, uint64_t *ret)
{
	struct local *l = self;
	struct open_file file;
	int rc = open_files_get(l->files, path, &file);
	off_t at;

	if (rc < 0)
		return rc;
	at = lseek(file.fd, (off_t)offset, whence);
	rc = at < 0 ? -errno : 0;
	if (rc < 0 && rc != -ENXIO)
		open_files_drop(l->files, &file);
	else
		open_files_put(l->files, &file, 0);
	if (rc == 0)
		*ret = (uint64_t)at;
	return rc;
}

static int stat_fs(void *self, const char *path, struct statvfs *ret)
{
	CLEANUP(fd_close) int fd = open_path(self, path, O_PATH);

	if (fd < 0)
		return fd;
	return fstatvfs(fd, ret) < 0 ? -errno : 0;
}

static int may(void *self, const char *path, const struct stat *same, int wanted)
{
	const struct local *l = self;
	CLEANUP(fd_close) int fd = -1;
	struct stat st, named;

	fd = *path ? open_path(l, path, O_PATH) : fcntl(l->root, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return *path ? fd : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	named = with_number(l, &st);
	if (named.st_dev != same->st_dev || named.st_ino != same->st_ino)
		return -ESTALE;
	return compat_access(fd, &st, wanted) < 0 ? -errno : 0;
}

/* A part of what the process may have. */
static unsigned max_open_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 4 > OPEN_FILES)
		return OPEN_FILES;
	return (unsigned)limit.rlim_cur / 4;
}

int local_open(const char *target, const char *hidden, struct local **ret, struct err *e)
{
	struct local *l = calloc(1, sizeof *l);
	struct stat st;

	if (!l)
		return err_nomem(e);
	pthread_mutex_init(&l->devices_lock, NULL);
	l->root = open(target, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (l->root < 0 || fstat(l->root, &st) < 0) {
		err_errno(e, "%s", target);
		goto fail;
	}
	l->device = st.st_dev;
	l->files = open_files_new(open_to_read, l, max_open_files());
	if (!l->files) {
		err_nomem(e);
		goto fail;
	}
	l->hidden = hidden ? strdup(hidden) : NULL;
	if (hidden && !l->hidden) {
		err_nomem(e);
		goto fail;
	}
	*ret = l;
	return 0;

fail:
	local_close(l);
	return e->code;
}

void local_close(struct local *l)
{
	if (!l)
		return;
	open_files_free(l->files);
	pthread_mutex_destroy(&l->devices_lock);
	fd_close(&l->root);
	free(l->hidden);
	free(l);
}

void local_hide_device(struct local *l, dev_t device)
{
	l->hidden_device = device;
}

void local_name_devices(struct local *l, uint64_t (*fs_of)(void *context, dev_t device),
			void *context)
{
	struct stat st;

	l->fs_of = fs_of;
	l->fs_context = context;
	if (fstat(l->root, &st) == 0)
		l->device = name_device(l, st.st_dev);
}

bool local_modes_tell(const struct local *l)
{
	static const long types[] = {
		0x47504653 /* gpfs */,
		0xff534d42 /* cifs */,
		0xfe534d42 /* smb */,
	};
	static const char *const names[] = { "system.nfs4_acl", "system.richacl" };
	char path[64];
	struct statfs fs;

	snprintf(path, sizeof path, "/proc/self/fd/%d/.", l->root);
	if (statfs(path, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if ((long)fs.f_type == types[i])
			return false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (getxattr(path, names[i], NULL, 0) >= 0)
			return false;
	return true;
}

struct storage local_storage(struct local *l)
{
	static const struct storage_ops ops = {
		.lookup = lookup,
		.lookup_names = lookup_names,
		.list = list,
		.read_chunk = read_chunk,
		.read_link = read_link,
		.xattr = xattr,
		.seek = seek,
		.stat_fs = stat_fs,
		.access = may,
	};

	return (struct storage){ &ops, l };
}
