/* SPDX-License-Identifier: MIT */
#include "base/output/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/file.h"
#include "base/output/fsuser.h"

#define MAX_TRIES 100 /* names of temporary files that others may have taken */
#define SUFFIX_CHARS 6

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

static int open_direct(const struct destination *to, const char *path, struct err *e)
{
	/* An open file may hold what others wrote before: nothing of it is overwritten. */
	int fd = openat(to->folder, to->name,
			O_WRONLY | O_CLOEXEC | O_NOCTTY | (to->is_opened ? O_APPEND : O_NOFOLLOW));

	return fd < 0 ? err_errno(e, "%s", path) : fd;
}

static int write_to(int fd, bool is_ours, const char *name, const void *bytes, size_t len,
		    struct err *e)
{
	int rc = file_write_all(fd, bytes, len);

	if (is_ours && close(fd) < 0 && rc == 0)
		rc = -errno;
	errno = -rc;
	return rc < 0 ? err_errno(e, "%s", name) : 0;
}

/* umask(2) would change it to read it, for all threads. Source: proc(5); kernel 4.7. */
static mode_t current_umask(void)
{
	char text[2048];
	const char *at = file_read_start("/proc/self/status", text, sizeof text)
				 ? strstr(text, "\nUmask:")
				 : NULL;
	unsigned mask;

	return at && sscanf(at, "\nUmask: %o", &mask) == 1 ? (mode_t)mask : 077;
}

static mode_t wanted_mode(const struct destination *to)
{
	if (to->is_there && S_ISREG(to->st.st_mode) && to->st.st_uid == geteuid())
		return to->st.st_mode & 0777;
	return 0666 & ~current_umask();
}

/* "NAME.x1Y2z3"; a long name is cut. */
static int name_temporary(struct outfile *f)
{
	static const char digits[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	uint8_t random[SUFFIX_CHARS];
	size_t len = strlen(f->to.name);

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return -EIO;
	if (len > NAME_MAX - SUFFIX_CHARS - 1)
		len = NAME_MAX - SUFFIX_CHARS - 1;
	memcpy(f->temporary, f->to.name, len);
	f->temporary[len++] = '.';
	for (size_t i = 0; i < SUFFIX_CHARS; i++)
		f->temporary[len++] = digits[random[i] % (sizeof digits - 1)];
	f->temporary[len] = '\0';
	return 0;
}

static void name_open_file(int fd, char *ret, size_t size)
{
	snprintf(ret, size, "/proc/self/fd/%d", fd);
}

/* 0 or -EEXIST, or another -errno. */
static int create_named(struct outfile *f)
{
	f->fd = openat(f->to.folder, f->temporary,
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return f->fd < 0 ? -errno : 0;
}

static int link_open(struct outfile *f)
{
	char path[32];

	name_open_file(f->fd, path, sizeof path);
	return linkat(AT_FDCWD, path, f->to.folder, f->temporary, AT_SYMLINK_FOLLOW) < 0 ? -errno
											 : 0;
}

/* Makes the file appear under a name that nobody has. */
static int give_temporary_name(struct outfile *f, int (*make)(struct outfile *f))
{
	int rc = -EEXIST;

	for (int i = 0; rc == -EEXIST && i < MAX_TRIES; i++) {
		rc = name_temporary(f);
		if (rc == 0)
			rc = make(f);
	}
	if (rc < 0)
		f->temporary[0] = '\0';
	return rc;
}

/* Without a name where the file system can do that: if we are killed, nothing is left behind. */
static int open_temporary(struct outfile *f, struct err *e)
{
	char path[32];

	f->fd = openat(f->to.folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	name_open_file(f->fd, path, sizeof path);
	if (f->fd >= 0 && access(path, F_OK) == 0)
		return 0;
	if (f->fd >= 0)
		close(f->fd);
	errno = -give_temporary_name(f, create_named);
	return errno ? err_errno(e, "%s", f->path) : 0;
}

static int begin_at(struct outfile *f, struct err *e)
{
	int rc = open_temporary(f, e);

	if (rc < 0)
		destination_close(&f->to);
	return rc;
}

static int find(const char *path, struct outfile *ret, struct err *e)
{
	*ret = (struct outfile){ .fd = -1, .to.folder = -1 };
	snprintf(ret->path, sizeof ret->path, "%s", path);
	return destination_open(path, &ret->to, e);
}

int outfile_begin(const char *path, struct outfile *ret, struct err *e)
{
	int rc = find(path, ret, e);

	if (rc < 0)
		return rc;
	if (destination_is_direct(&ret->to)) {
		destination_close(&ret->to);
		return err_set(e, -EINVAL, "%s: is not a regular file", path);
	}
	return begin_at(ret, e);
}

static int fail(struct outfile *f, int rc, struct err *e)
{
	outfile_discard(f);
	errno = -rc;
	return err_errno(e, "%s", f->path);
}

int outfile_sync(struct outfile *f, struct err *e)
{
	int rc = 0;

	if (fchmod(f->fd, wanted_mode(&f->to)) < 0 || fsync(f->fd) < 0)
		rc = -errno;
	else if (!*f->temporary)
		rc = give_temporary_name(f, link_open);
	if (close(f->fd) < 0 && rc == 0)
		rc = -errno;
	f->fd = -1;
	return rc < 0 ? fail(f, rc, e) : 0;
}

/* File systems that cannot rename so (NFS) can link. */
int outfile_move_new(int from_folder, const char *from, int to_folder, const char *to)
{
	if (renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(from_folder, from, to_folder, to, 0) < 0)
		return -errno;
	unlinkat(from_folder, from, 0);
	return 0;
}

int outfile_commit(struct outfile *f, bool is_new, struct err *e)
{
	int rc = 0;

	if (!*f->temporary)
		return 0;
	if (is_new)
		rc = outfile_move_new(f->to.folder, f->temporary, f->to.folder, f->to.name);
	else if (renameat(f->to.folder, f->temporary, f->to.folder, f->to.name) < 0)
		rc = -errno;
	if (rc < 0)
		return fail(f, rc, e);
	f->temporary[0] = '\0';
	destination_close(&f->to);
	return 0;
}

void outfile_discard(struct outfile *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	if (*f->temporary)
		unlinkat(f->to.folder, f->temporary, 0);
	f->temporary[0] = '\0';
	destination_close(&f->to);
}

static int write_begun(struct outfile *f, const void *bytes, size_t len, struct err *e)
{
	int rc = file_write_all(f->fd, bytes, len);

	return rc < 0 ? fail(f, rc, e) : outfile_sync(f, e);
}

int outfile_write(const char *path, const void *bytes, size_t len, struct outfile *ret,
		  struct err *e)
{
	int fd, rc;

	*ret = (struct outfile){ .fd = -1, .to.folder = -1 };
	if (is_stdout(path))
		return write_to(STDOUT_FILENO, false, "standard output", bytes, len, e);
	rc = find(path, ret, e);
	if (rc < 0)
		return rc;
	if (destination_is_direct(&ret->to)) {
		fd = open_direct(&ret->to, path, e);
		destination_close(&ret->to);
		return fd < 0 ? fd : write_to(fd, true, path, bytes, len, e);
	}
	rc = begin_at(ret, e);
	return rc < 0 ? rc : write_begun(ret, bytes, len, e);
}

static int put(const char *path, bool is_new, const void *bytes, size_t len, struct err *e)
{
	struct outfile f;
	int rc = outfile_write(path, bytes, len, &f, e);

	return rc < 0 ? rc : outfile_commit(&f, is_new, e);
}

int outfile_replace(const char *path, const void *bytes, size_t len, struct err *e)
{
	return put(path, false, bytes, len, e);
}

int outfile_create(const char *path, const void *bytes, size_t len, struct err *e)
{
	return put(path, true, bytes, len, e);
}

static int check_ours(const struct stat *st, const char *path, struct err *e)
{
	if (S_ISLNK(st->st_mode))
		return err_set(e, -EEXIST, "%s: is a symbolic link", path);
	if (!S_ISREG(st->st_mode))
		return err_set(e, -EEXIST, "%s: is not a regular file", path);
	return st->st_uid == fsuser_uid()
		       ? 0
		       : err_set(e, -EEXIST, "%s: belongs to another user", path);
}

int outfile_replace_at(int folder, const char *name, const char *path, const void *bytes,
		       size_t len, struct err *e)
{
	struct outfile f = { .fd = -1, .to.folder = -1 };
	int rc = strlen(name) > NAME_MAX ? err_set(e, -ENAMETOOLONG, "%s: name too long", path) : 0;

	f.to.is_there = fstatat(folder, name, &f.to.st, AT_SYMLINK_NOFOLLOW) == 0;
	if (rc == 0 && f.to.is_there)
		rc = check_ours(&f.to.st, path, e);
	if (rc < 0)
		return rc;
	snprintf(f.path, sizeof f.path, "%s", path);
	snprintf(f.to.name, sizeof f.to.name, "%s", name);
	f.to.folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	rc = f.to.folder < 0 ? err_errno(e, "%s", path) : begin_at(&f, e);
	if (rc == 0)
		rc = write_begun(&f, bytes, len, e);
	return rc < 0 ? rc : outfile_commit(&f, false, e);
}

int outfile_check(const char *path, struct err *e)
{
	struct outfile f;
	int rc;

	if (is_stdout(path))
		return 0;
	rc = find(path, &f, e);
	if (rc < 0)
		return rc;
	if (!destination_is_direct(&f.to)) {
		rc = begin_at(&f, e);
	} else if (faccessat(f.to.folder, f.to.name, W_OK, 0) < 0) {
		rc = err_errno(e, "%s", path);
	}
	outfile_discard(&f);
	return rc;
}

int outfile_open_stream(const char *path, int *ret_fd, struct err *e)
{
	struct destination to;
	int fd, rc = destination_open(path, &to, e);

	if (rc < 0)
		return rc;
	if (destination_is_direct(&to)) {
		fd = open_direct(&to, path, e);
	} else {
		fd = openat(to.folder, to.name,
			    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			    0666);
		if (fd < 0)
			fd = err_errno(e, "%s", path);
	}
	destination_close(&to);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}
