/* SPDX-License-Identifier: MIT */
#include "stage/output.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stage/report.h"
#include "stage/stacks.h"
#include "stage/ticks.h"

/* A pipe without readers and a limit of the file size are errors here, and end no program. */
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
		continue; /* ours: it came to this thread alone */
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

static int write_all(int fd, const char *data, size_t len)
{
	struct hushed hushed;
	int status;

	hush(&hushed);
	status = write_part(fd, data, len);
	unhush(&hushed);
	return status;
}

/* Does not wait for the reader of a FIFO, which may never come; but writing waits for it. */
static int open_to_append(const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
	int fd = open(path, flags | O_NONBLOCK, 0666);

	if (fd >= 0)
		fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

/* One write() on a file that is opened to append: lines of many processes do not mix. */
static int append(const char *path, const struct text *line)
{
	int fd = open_to_append(path);
	int status;

	if (fd < 0)
		return -errno;
	status = write_all(fd, line->data, line->len);
	if (close(fd) < 0 && status == 0)
		status = -errno;
	return status;
}

/* Under another name until it is whole. */
static int replace(const char *path, const struct text *data)
{
	CLEANUP(text_fini) struct text name = { 0 };
	int status;
	int fd;

	text_put_str(&name, path);
	text_put_str(&name, ".new.");
	text_put_int(&name, getpid());
	text_put_str(&name, "."); /* process 1 of each container has the same number */
	text_put_int(&name, (int64_t)clock_ns(CLOCK_REALTIME));
	text_put(&name, "", 1);
	if (text_error(&name) < 0)
		return -ENOMEM;
	fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	status = write_all(fd, data->data, data->len);
	if (status == 0 && fsync(fd) < 0)
		status = -errno;
	if (close(fd) < 0 && status == 0)
		status = -errno;
	if (status == 0 && rename(name.data, path) < 0)
		status = -errno;
	if (status < 0)
		unlink(name.data);
	return status;
}

static uint32_t make_line(struct auger_profiler *p, struct text *line)
{
	uint32_t rows = report_write(p, line);

	text_put(line, "\n", 1);
	return rows;
}

static bool ends_with(const char *path, const char *ending)
{
	size_t len = strlen(path);

	return len >= strlen(ending) && strcmp(path + len - strlen(ending), ending) == 0;
}

/* folder: that a relative pattern starts from; NULL: the current one. */
static int write_to(struct auger_profiler *p, const char *folder, const char *pattern,
		    bool also_empty)
{
	CLEANUP(text_fini) struct text path = { 0 };
	CLEANUP(text_fini) struct text data = { 0 };
	bool is_profile;
	uint32_t rows;

	if (folder) {
		text_put_str(&path, folder);
		text_put(&path, "/", 1);
	}
	place_expand(&p->place, pattern, &path);
	if (text_error(&path) < 0)
		return -ENOMEM;
	is_profile = ends_with(path.data, ".pb.gz");
	rows = is_profile ? stacks_write(p, &data) : make_line(p, &data);
	if (text_error(&data) < 0)
		return -ENOMEM;
	if (!rows && !also_empty)
		return 0;
	return is_profile ? replace(path.data, &data) : append(path.data, &data);
}

EXPORT int auger_profiler_write(struct auger_profiler *p, const char *pattern)
{
	return p ? write_to(p, NULL, pattern, true) : 0;
}

EXPORT int auger_profiler_write_fd(struct auger_profiler *p, int fd)
{
	CLEANUP(text_fini) struct text line = { 0 };

	if (!p)
		return 0;
	make_line(p, &line);
	return text_error(&line) < 0 ? -ENOMEM : write_all(fd, line.data, line.len);
}

EXPORT char *auger_profiler_report(struct auger_profiler *p, size_t *ret_len)
{
	CLEANUP(text_fini) struct text line = { 0 };
	char *copy;

	errno = 0;
	if (!p)
		return NULL;
	report_write(p, &line);
	text_put(&line, "", 1);
	copy = text_error(&line) < 0 ? NULL : malloc(line.len);
	if (!copy) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy(copy, line.data, line.len);
	if (ret_len)
		*ret_len = line.len - 1;
	return copy;
}

void output_warn(const char *what, const char *subject, const char *reason)
{
	static int warned;
	char line[512];
	int len;

	if (__atomic_exchange_n(&warned, 1, __ATOMIC_RELAXED))
		return;
	len = snprintf(line, sizeof line, "auger: %s: '%s': %s\n", what, subject, reason);
	if (len > 0 && write(STDERR_FILENO, line, strnlen(line, sizeof line)) < 0)
		return; /* there is nobody else to tell */
}

void output_write_out(struct auger_profiler *p)
{
	int status;

	if (!p->opts.out)
		return;
	status = write_to(p, p->folder, p->opts.out, false);
	if (status < 0)
		output_warn("cannot write the report of stages", p->opts.out, strerror(-status));
}
