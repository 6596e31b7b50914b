/* SPDX-License-Identifier: MIT */
#include "stage/write.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Blocks SIGPIPE and SIGXFSZ: they are errors here, and must not kill the program. */
struct hushed {
	sigset_t signals;
	sigset_t before; /* mask */
};

static void hush(struct hushed *h)
{
	static const int signals[] = { SIGPIPE, SIGXFSZ };
	sigset_t pending;

	sigpending(&pending);
	sigemptyset(&h->signals);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		if (!sigismember(&pending, signals[i]))
			sigaddset(&h->signals, signals[i]);
	}
	pthread_sigmask(SIG_BLOCK, &h->signals, &h->before);
}

static void unhush(const struct hushed *h)
{
	const struct timespec now = { 0 };

	while (sigtimedwait(&h->signals, NULL, &now) > 0)
		continue; /* consumes our own signal, which is pending for this thread */
	pthread_sigmask(SIG_SETMASK, &h->before, NULL);
}

static int write_part(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int write_all(int fd, const char *data, size_t len)
{
	struct hushed hushed;
	int status;

	hush(&hushed);
	status = write_part(fd, data, len);
	unhush(&hushed);
	return status;
}

/* Opening a FIFO without a reader must not block; writing to it may. */
static int open_to_append(const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
	int fd = open(path, flags | O_NONBLOCK, 0666);

	if (fd >= 0)
		fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

static void note_place(int fd, size_t len, struct written *ret)
{
	off_t end = lseek(fd, 0, SEEK_CUR);
	struct stat s;

	if (end < (off_t)len || fstat(fd, &s) < 0 || !S_ISREG(s.st_mode))
		return;
	*ret = (struct written){ s.st_dev, s.st_ino, end - (off_t)len, len };
}

int write_line(const char *path, const struct text *line, struct written *ret_place)
{
	int fd = open_to_append(path);
	int status;

	if (fd < 0)
		return -errno;
	status = write_all(fd, line->data, line->len);
	if (status == 0 && ret_place)
		note_place(fd, line->len, ret_place);
	if (close(fd) < 0 && status == 0)
		status = -errno;
	return status;
}

static bool is_there(int fd, const struct written *place)
{
	struct stat s;

	return fstat(fd, &s) == 0 && s.st_dev == place->dev && s.st_ino == place->ino &&
	       s.st_size >= place->at + (off_t)place->len;
}

int write_over(const char *path, struct text *line, const struct written *place)
{
	int status = 0;
	int fd;

	if (line->len > place->len)
		return -ENOSPC;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	text_widen_line(line, place->len);
	if (text_error(line) < 0 || !is_there(fd, place) ||
	    pwrite(fd, line->data, line->len, place->at) != (ssize_t)line->len)
		status = -EIO;
	close(fd);
	return status;
}
