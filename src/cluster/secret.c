/* SPDX-License-Identifier: MIT */
#include "cluster/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

void secret_fini(struct secret *s)
{
	explicit_bzero(s, sizeof(*s));
}

int secret_random(void *ret, size_t len)
{
	unsigned char *at = ret;

	while (len) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int secret_make(struct secret *ret, struct err *e)
{
	int rc = secret_random(ret->bytes, sizeof(ret->bytes));

	if (rc < 0)
		return err_set(e, rc, "no random bytes: %s", strerror(-rc));
	return 0;
}

static int check_file(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(e, "'%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EACCES, "'%s' is not a regular file", path);
	if (st.st_uid != geteuid())
		return err_set(e, -EACCES,
			       "'%s' is of user %u: a job's secret must be a file of its own user",
			       path, st.st_uid);
	if (st.st_mode & 077)
		return err_set(e, -EACCES,
			       "'%s' has mode %03o: others must not read a job's secret "
			       "(chmod 600)",
			       path, st.st_mode & 0777);
	return 0;
}

int secret_load(const char *path, struct secret *ret, struct err *e)
{
	unsigned char bytes[SECRET_BYTES + 1];
	CLEANUP(fd_close) int fd = -1;
	size_t len = 0;

	/* A FIFO must not hold this process up. */
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return err_set(e, -EACCES, "'%s' is a symbolic link: name the secret itself", path);
	if (fd < 0)
		return err_errno(e, "'%s'", path);
	if (check_file(fd, path, e) < 0)
		return e->code;
	while (len < sizeof(bytes)) {
		ssize_t n = read(fd, bytes + len, sizeof(bytes) - len);

		if (n < 0 && errno != EINTR)
			return err_errno(e, "'%s'", path);
		if (n == 0)
			break;
		if (n > 0)
			len += (size_t)n;
	}
	if (len == SECRET_BYTES)
		memcpy(ret->bytes, bytes, SECRET_BYTES);
	explicit_bzero(bytes, sizeof(bytes));
	if (len != SECRET_BYTES)
		return err_set(e, -EINVAL, "'%s' has %s%zu bytes: a job's secret has %d", path,
			       len > SECRET_BYTES ? "more than " : "",
			       len > SECRET_BYTES ? (size_t)SECRET_BYTES : len, SECRET_BYTES);
	return 0;
}

int secret_create(const char *path, struct err *e)
{
	struct secret s;
	CLEANUP(fd_close) int fd = -1;
	int rc;

	if (secret_make(&s, e) < 0)
		return e->code;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err_errno(e, "'%s'", path);
		secret_fini(&s);
		return e->code;
	}
	rc = file_write_all(fd, s.bytes, sizeof(s.bytes));
	secret_fini(&s);
	if (rc == 0 && fsync(fd) < 0 && errno != EINVAL)
		rc = -errno;
	if (rc == 0)
		return 0;
	unlink(path);
	return err_set(e, rc, "'%s': %s", path, strerror(-rc));
}
