/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define READ_BYTES ((size_t)64 * 1024)
#define DEVICE_BYTES ((size_t)1 << 20) /* that a device may have: /dev/zero has no end */

static int read_all(int fd, const char *name, size_t limit, struct buf *out, struct err *e)
{
	for (;;) {
		void *at = buf_reserve(out, READ_BYTES);
		ssize_t n;

		if (!at)
			return err_nomem(e);
		n = read(fd, at, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "%s", name);
		if (n == 0) {
			buf_grew(out, 0); /* nothing may have been read, and the NUL is promised */
			return 0;
		}
		buf_grew(out, (size_t)n);
		if (out->len > limit)
			return err_set(e, -EFBIG, "%s: more than %zu bytes", name, limit);
	}
}

static size_t stream_limit(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && !isatty(fd))
		return DEVICE_BYTES;
	return SIZE_MAX / 4;
}

static int load_stream(int fd, const char *name, struct file_input *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc = read_all(fd, name, stream_limit(fd), &text, e);

	if (rc < 0)
		return rc;
	*ret = (struct file_input){ (unsigned char *)text.data, text.len, false };
	text = (struct buf){ 0 }; /* handed over */
	return 0;
}

int file_load(const char *path, struct file_input *ret, struct err *e)
{
	CLEANUP(fd_close) int fd = -1;
	struct stat st;
	void *data;

	if (strcmp(path, "-") == 0)
		return load_stream(STDIN_FILENO, "standard input", ret, e);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%s", path);
	if (S_ISDIR(st.st_mode))
		return err_set(e, -EISDIR, "%s: is a directory", path);
	/* Files of virtual file systems have no length, or cannot be read but in order. */
	if (!S_ISREG(st.st_mode) || st.st_size == 0 || lseek(fd, 0, SEEK_CUR) < 0)
		return load_stream(fd, path, ret, e);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return err_errno(e, "%s: cannot be mapped", path);
	*ret = (struct file_input){ data, (size_t)st.st_size, true };
	return 0;
}

/* Without const, as the calls that end or change a mapping want it. */
static void *data_of(const struct file_input *in)
{
	union {
		const unsigned char *read;
		void *write;
	} data = { .read = in->data };

	return data.write;
}

void file_input_fini(struct file_input *in)
{
	if (in->is_mapped)
		munmap(data_of(in), in->len);
	else
		free(data_of(in));
	*in = (struct file_input){ 0 };
}

void file_input_drop(const struct file_input *in, size_t from, size_t to)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	from = (from + page - 1) / page * page;
	to = to / page * page;
	/* Only pages of a file come back as they were. */
	if (in->is_mapped && from < to)
		madvise((char *)data_of(in) + from, to - from, MADV_DONTNEED);
}

int file_read_small(const char *path, size_t limit, struct buf *ret, struct err *e)
{
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "%s", path);
	return read_all(fd, path, limit, ret, e);
}

size_t file_read_start(const char *path, char *text, size_t size)
{
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
	size_t len = n > 0 ? (size_t)n : 0;

	text[len] = '\0';
	return len;
}

int file_write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static bool is_direct(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int write_direct(const char *path, const void *bytes, size_t len, struct err *e)
{
	bool is_stdout = strcmp(path, "-") == 0;
	const char *name = is_stdout ? "standard output" : path;
	int fd = is_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return err_errno(e, "%s", name);
	rc = file_write_all(fd, bytes, len);
	if (!is_stdout && close(fd) < 0 && rc == 0)
		rc = -errno;
	errno = -rc;
	return rc < 0 ? err_errno(e, "%s", name) : 0;
}

/* A link is followed, so that the file behind it is replaced and the link stays. */
static int real_target(const char *path, char *ret, size_t cap, struct err *e)
{
	char resolved[PATH_MAX];
	const char *target = realpath(path, resolved) ? resolved : path;

	if ((size_t)snprintf(ret, cap, "%s", target) >= cap)
		return err_set(e, -ENAMETOOLONG, "%s: name too long", path);
	return 0;
}

static int make_temporary(const char *target, char *ret_name, size_t cap, struct err *e)
{
	int fd;

	if ((size_t)snprintf(ret_name, cap, "%s.XXXXXX", target) >= cap)
		return err_set(e, -ENAMETOOLONG, "%s: name too long", target);
	fd = mkostemp(ret_name, O_CLOEXEC);
	return fd < 0 ? err_errno(e, "%s", target) : fd;
}

static mode_t wanted_mode(const char *target)
{
	struct stat st;
	mode_t mask;

	if (stat(target, &st) == 0)
		return st.st_mode & 07777;
	mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

/* File systems that cannot rename so (NFS) can link. */
int file_move_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (link(from, to) < 0)
		return -errno;
	unlink(from);
	return 0;
}

static int fill(int fd, const char *target, const void *bytes, size_t len)
{
	int rc = file_write_all(fd, bytes, len);

	if (rc == 0 && (fchmod(fd, wanted_mode(target)) < 0 || fsync(fd) < 0))
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

static int fail(struct file_beside *f, int rc, struct err *e)
{
	file_drop_beside(f);
	errno = -rc;
	return err_errno(e, "%s", f->path);
}

int file_write_beside(const char *path, const void *bytes, size_t len, struct file_beside *ret,
		      struct err *e)
{
	int fd, rc;

	ret->temporary[0] = '\0';
	if (strcmp(path, "-") == 0 || is_direct(path))
		return write_direct(path, bytes, len, e);
	rc = real_target(path, ret->target, sizeof ret->target, e);
	if (rc < 0)
		return rc;
	snprintf(ret->path, sizeof ret->path, "%s", path);
	fd = make_temporary(ret->target, ret->temporary, sizeof ret->temporary, e);
	if (fd < 0) {
		*ret->temporary = '\0';
		return fd;
	}
	rc = fill(fd, ret->target, bytes, len);
	return rc < 0 ? fail(ret, rc, e) : 0;
}

int file_move_beside(struct file_beside *f, bool is_new, struct err *e)
{
	int rc = 0;

	if (!*f->temporary)
		return 0;
	if (is_new)
		rc = file_move_new(f->temporary, f->target);
	else if (rename(f->temporary, f->target) < 0)
		rc = -errno;
	if (rc < 0)
		return fail(f, rc, e);
	*f->temporary = '\0';
	return 0;
}

void file_drop_beside(struct file_beside *f)
{
	if (*f->temporary)
		unlink(f->temporary);
	*f->temporary = '\0';
}

static int put(const char *path, bool is_new, const void *bytes, size_t len, struct err *e)
{
	struct file_beside f;
	int rc = file_write_beside(path, bytes, len, &f, e);

	return rc < 0 ? rc : file_move_beside(&f, is_new, e);
}

int file_replace(const char *path, const void *bytes, size_t len, struct err *e)
{
	return put(path, false, bytes, len, e);
}

int file_create(const char *path, const void *bytes, size_t len, struct err *e)
{
	return put(path, true, bytes, len, e);
}

int file_check_writable(const char *path, struct err *e)
{
	char target[PATH_MAX], temporary[PATH_MAX];
	int fd, rc;

	if (strcmp(path, "-") == 0)
		return 0;
	if (is_direct(path)) {
		struct stat st;

		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			return err_set(e, -EISDIR, "%s: is a directory", path);
		return access(path, W_OK) < 0 ? err_errno(e, "%s", path) : 0;
	}
	rc = real_target(path, target, sizeof target, e);
	if (rc < 0)
		return rc;
	fd = make_temporary(target, temporary, sizeof temporary, e);
	if (fd < 0)
		return fd;
	close(fd);
	unlink(temporary);
	return 0;
}
