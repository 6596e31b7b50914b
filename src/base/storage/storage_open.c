/* SPDX-License-Identifier: MIT */
#include "base/storage/storage_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/storage/replies.h"

#define REPLY_MS 1000
#define TRUST_NS NS_PER_S
#define DISTRUST_NS (10 * NS_PER_S)
#define DEVICES_MAX 64 /* remembered; then the first ones are asked anew */
#define READ_BYTES 4096
#define ZFS_MAGIC 0x2fc12fc1 /* Source: OpenZFS, zfs_vfsops.h */

/* A path from a folder. */
struct place {
	int dir;          /* AT_FDCWD, or O_PATH; borrowed */
	const char *path; /* "": dir itself */
	int flags;        /* O_NOFOLLOW or 0 */
};

/* What is known of a file system. */
struct device {
	uint32_t minor; /* of major number 0 */
	bool is_local;  /* for good */
	bool replies, is_told;
	int64_t until_ns; /* CLOCK_MONOTONIC */
};

static struct {
	pthread_mutex_t lock;
	struct device list[DEVICES_MAX]; /* under lock, as the rest */
	size_t count, next;              /* next: to be replaced */
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* What a forked process answers. */
enum { ANSWER_REMOTE, ANSWER_LOCAL };

/* Is its data on this machine, although it has no device of its own? */
static unsigned char place_of_data(int fd)
{
	static const uint32_t local[] = { OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, BTRFS_SUPER_MAGIC,
					  RAMFS_MAGIC, ZFS_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return ANSWER_REMOTE;
	for (size_t i = 0; i < ARRAY_LEN(local); i++)
		if ((uint32_t)fs.f_type == local[i])
			return ANSWER_LOCAL;
	return ANSWER_REMOTE;
}

static void read_at(int fd, off_t offset)
{
	char bytes[READ_BYTES];

	if (pread(fd, bytes, sizeof bytes, offset) < 0)
		errno = 0; /* that is a reply */
}

/* Opens the file and reads its start and end, as the caller will. In a forked process. */
static unsigned char touch(const void *place)
{
	const struct place *p = place;
	int at = p->path[0] ? openat(p->dir, p->path, O_PATH | O_CLOEXEC | p->flags) : p->dir, fd;
	char link[64];
	struct stat st;

	if (at < 0 || fstat(at, &st) < 0 || !S_ISREG(st.st_mode))
		return ANSWER_REMOTE;
	snprintf(link, sizeof link, "/proc/self/fd/%d", at);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return ANSWER_REMOTE;
	read_at(fd, 0);
	read_at(fd, st.st_size > READ_BYTES ? st.st_size - READ_BYTES : 0);
	return place_of_data(fd);
}

static struct device *find_device(uint32_t minor)
{
	for (size_t i = 0; i < known.count; i++)
		if (known.list[i].minor == minor)
			return &known.list[i];
	return NULL;
}

/* All zero: nothing is known. */
static struct device recall(uint32_t minor)
{
	const struct device *d;
	struct device copy = { 0 };

	pthread_mutex_lock(&known.lock);
	d = find_device(minor);
	if (d)
		copy = *d;
	pthread_mutex_unlock(&known.lock);
	return copy;
}

/* answer: of a forked process; -1: none. true: the first time that it does not reply. */
static bool remember(uint32_t minor, int answer)
{
	struct device *d;
	bool is_news;

	pthread_mutex_lock(&known.lock);
	d = find_device(minor);
	if (!d) {
		d = &known.list[known.next];
		known.next = (known.next + 1) % DEVICES_MAX;
		known.count += known.count < DEVICES_MAX;
		*d = (struct device){ .minor = minor };
	}
	d->replies = answer >= 0;
	d->is_local |= answer == ANSWER_LOCAL;
	d->until_ns = clock_mono_ns() + (d->replies ? TRUST_NS : DISTRUST_NS);
	is_news = !d->replies && !d->is_told;
	d->is_told |= is_news;
	pthread_mutex_unlock(&known.lock);
	return is_news;
}

static bool take_answer(uint32_t minor, int answer, const char *name)
{
	if (remember(minor, answer))
		log_msg(LOG_WARN, "storage",
			"%s: its storage does not reply; what lies there is not read", name);
	return answer >= 0;
}

/* Is it mounted here as a file system whose data is on this machine? Asks no file system. */
static bool is_local_mount(uint32_t minor)
{
	static const char *const local[] = { "overlay", "tmpfs", "btrfs", "ramfs", "zfs" };
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX], device[24];
	bool is_local = false;

	snprintf(device, sizeof device, " 0:%u ", minor);
	while (mounts && !is_local && fgets(line, sizeof line, mounts)) {
		const char *type = strstr(line, " - ");

		if (!type || !strstr(line, device) || strstr(line, device) > type)
			continue;
		for (size_t i = 0; i < ARRAY_LEN(local); i++)
			is_local |= strlen(local[i]) == strcspn(type + 3, " ") &&
				    strncmp(type + 3, local[i], strlen(local[i])) == 0;
	}
	if (mounts)
		fclose(mounts);
	return is_local;
}

static bool device_replies(const struct statx *x, const struct place *p, const char *name)
{
	struct device d = recall(x->stx_dev_minor);

	if (x->stx_dev_major || d.is_local)
		return true;
	if (clock_mono_ns() < d.until_ns)
		return d.replies;
	if (!d.until_ns && is_local_mount(x->stx_dev_minor))
		return take_answer(x->stx_dev_minor, ANSWER_LOCAL, name);
	return take_answer(x->stx_dev_minor, replies_within(touch, p, p->dir, REPLY_MS), name);
}

/* What the kernel has in memory: no file system makes a request for it. */
static bool look(int dir, const char *path, struct statx *ret)
{
	return statx(dir, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE,
		     ret) == 0;
}

/* -1 and errno; EAGAIN: a component is not in the kernel's memory. */
static int open_cached(const struct place *p, const char *path, int flags)
{
	const struct open_how how = { .flags = (unsigned)(O_PATH | O_CLOEXEC | flags),
				      .resolve = RESOLVE_CACHED };

	return (int)syscall(SYS_openat2, p->dir, path, &how, sizeof how);
}

/* Does the file system that the known part of the path ends on reply? */
static bool path_replies(const struct place *p)
{
	char path[PATH_MAX];
	size_t len = strlen(p->path);

	if (len >= sizeof path)
		return true; /* the open will fail */
	memcpy(path, p->path, len + 1);
	for (;;) {
		CLEANUP(fd_close) int at = -1;
		struct statx x;

		while (len && path[len - 1] != '/')
			len--;
		while (len > 1 && path[len - 1] == '/')
			len--;
		path[len] = '\0';
		at = open_cached(p, len ? path : ".", O_DIRECTORY);
		if (at >= 0)
			return !look(at, "", &x) || device_replies(&x, p, p->path);
		if (errno != EAGAIN || len < 2)
			return true;
	}
}

/* An O_PATH descriptor of the file, or -1 and errno. */
static int open_place(const struct place *p)
{
	int at = open_cached(p, p->path, p->flags);

	/* Without openat2(2) nothing is known of the way. */
	if (at >= 0 || (errno != EAGAIN && errno != ENOSYS && errno != EPERM && errno != EINVAL))
		return at;
	if (errno == EAGAIN && !path_replies(p)) {
		errno = ETIMEDOUT;
		return -1;
	}
	return openat(p->dir, p->path, O_PATH | O_CLOEXEC | p->flags);
}

/* Of "/proc/PID/root/usr/bin/x" the length of "/proc/PID/root", of other paths 0. */
static size_t root_len(const char *path)
{
	static const char proc[] = "/proc/", root[] = "/root/";
	size_t len = sizeof proc - 1;

	if (strncmp(path, proc, len) != 0)
		return 0;
	len += strcspn(path + len, "/");
	return strncmp(path + len, root, sizeof root - 1) == 0 ? len + sizeof root - 2 : 0;
}

/* An O_PATH descriptor. What /proc itself leads to is a link of the kernel, which needs no
 * request. */
static int open_path(const char *path, int flags)
{
	CLEANUP(fd_close) int root = -1;
	struct place p = { AT_FDCWD, path, flags };
	size_t len = root_len(path);
	char text[64];

	if (!len && strncmp(path, "/proc/", 6) == 0)
		return open(path, O_PATH | O_CLOEXEC | flags);
	if (len && len < sizeof text) {
		memcpy(text, path, len);
		text[len] = '\0';
		root = p.dir = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (root < 0)
			return -1;
		p.path = path + len + strspn(path + len, "/");
	}
	return p.path[0] || !len ? open_place(&p) : openat(p.dir, ".", O_PATH | O_CLOEXEC);
}

/* What the user knows the file by. */
static const char *name_of(int at, const char *path, char *text, size_t size)
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof link, "/proc/self/fd/%d", at);
	len = readlink(link, text, size - 1);
	if (len <= 0)
		return path;
	text[len] = '\0';
	return text;
}

static int does_not_reply(const char *path, struct err *e)
{
	return err_set(e, -ETIMEDOUT, "%s: the storage does not reply", path);
}

int storage_open_regular(const char *path, int flags, struct err *e)
{
	CLEANUP(fd_close) int at = open_path(path, flags);
	char name[PATH_MAX];
	struct statx x;

	if (at < 0 && errno == ETIMEDOUT)
		return does_not_reply(path, e);
	if (at < 0)
		return err_errno(e, "%s", path);
	if (look(at, "", &x) && x.stx_dev_major == 0 &&
	    !device_replies(&x, &(struct place){ .dir = at, .path = "" },
			    name_of(at, path, name, sizeof name)))
		return does_not_reply(path, e);
	return file_open_regular_at(at, path, flags, e);
}

/* For storage_replies(). */
struct reading {
	int fd;
	void (*read)(int fd);
};

static unsigned char read_it(const void *reading)
{
	const struct reading *r = reading;

	if (place_of_data(r->fd) == ANSWER_LOCAL)
		return ANSWER_LOCAL;
	r->read(r->fd);
	return ANSWER_REMOTE;
}

bool storage_replies(int fd, void (*read)(int fd))
{
	const struct reading r = { fd, read };
	char name[PATH_MAX];
	struct statx x;
	struct device d;

	if (!look(fd, "", &x) || x.stx_dev_major)
		return true;
	d = recall(x.stx_dev_minor);
	if (d.is_local || (!d.replies && clock_mono_ns() < d.until_ns))
		return d.is_local;
	return take_answer(x.stx_dev_minor, replies_within(read_it, &r, fd, REPLY_MS),
			   name_of(fd, "a file", name, sizeof name));
}
