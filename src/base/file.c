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
#include "base/guard.h"

#define READ_BYTES ((size_t)32 * 1024)
#define DEVICE_BYTES ((size_t)1 << 20) /* that a device may have: /dev/zero has no end */

int file_read(int fd, const char *name, size_t limit, struct buf *out, struct err *e)
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
	int rc = file_read(fd, name, stream_limit(fd), &text, e);

	if (rc < 0)
		return rc;
	*ret = (struct file_input){ .data = (unsigned char *)text.data, .len = text.len };
	text = (struct buf){ 0 }; /* handed over */
	return 0;
}

static int load_opened(int fd, const char *path, struct file_input *ret, struct err *e)
{
	struct stat st;
	void *data;

	if (fstat(fd, &st) < 0)
		return err_errno(e, "%s", path);
	if (S_ISDIR(st.st_mode))
		return err_set(e, -EISDIR, "%s: is a directory", path);
	/* Files of virtual file systems have no length, or cannot be read but in order. */
	if (!S_ISREG(st.st_mode) || st.st_size == 0 || lseek(fd, 0, SEEK_CUR) < 0)
		return load_stream(fd, path, ret, e);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return err_errno(e, "%s: cannot be mapped", path);
	*ret = (struct file_input){ data, (size_t)st.st_size, true,
				    guard_begin(data, (size_t)st.st_size) };
	if (ret->guard >= 0)
		return 0;
	file_input_fini(ret);
	return err_set(e, -EMFILE, "%s: too many files are open", path);
}

int file_load(const char *path, struct file_input *ret, struct err *e)
{
	CLEANUP(fd_close) int fd = -1;

	if (strcmp(path, "-") == 0)
		return load_stream(STDIN_FILENO, "standard input", ret, e);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? err_errno(e, "%s", path) : load_opened(fd, path, ret, e);
}

int file_load_regular(const char *path, struct file_input *ret, struct err *e)
{
	CLEANUP(fd_close) int fd = file_open_regular(path, O_NOFOLLOW, e);

	return fd < 0 ? fd : load_opened(fd, path, ret, e);
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
	if (in->is_mapped) {
		guard_end(in->guard);
		munmap(data_of(in), in->len);
	} else {
		free(data_of(in));
	}
	*in = (struct file_input){ 0 };
}

int file_input_check(const struct file_input *in, const char *path, struct err *e)
{
	if (in->is_mapped && guard_has_shrunk(in->guard))
		return err_set(e, -ESTALE, "%s: became shorter while it was read", path);
	return 0;
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
	return file_read(fd, path, limit, ret, e);
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

/* A descriptor of the path itself cannot be replaced between the look and the open. */
int file_open_regular_at(int at, const char *path, int flags, struct err *e)
{
	const int wanted = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	char link[64];
	struct stat st;
	int fd;

	if (fstat(at, &st) < 0)
		return err_errno(e, "%s", path);
	if (S_ISLNK(st.st_mode))
		return err_set(e, -ELOOP, "%s: %s", path, strerror(ELOOP));
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%s: not a regular file", path);
	snprintf(link, sizeof link, "/proc/self/fd/%d", at);
	fd = open(link, wanted);
	if (fd < 0 && errno == ENOENT) /* no /proc */
		fd = open(path, wanted | flags);
	return fd < 0 ? err_errno(e, "%s", path) : fd;
}

int file_open_regular(const char *path, int flags, struct err *e)
{
	CLEANUP(fd_close) int at = open(path, O_PATH | O_CLOEXEC | flags);

	return at < 0 ? err_errno(e, "%s", path) : file_open_regular_at(at, path, flags, e);
}
