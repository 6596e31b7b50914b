/* SPDX-License-Identifier: MIT */
#include "stage/output.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stage/report.h"
#include "stage/stacks.h"
#include "stage/ticks.h"
#include "stage/write.h"

/* Writes a temporary file, then renames it. */
static int replace(const char *path, const struct text *data)
{
	CLEANUP(text_fini) struct text name = { 0 };
	int status;
	int fd;

	text_put_str(&name, path);
	text_put_str(&name, ".new.");
	text_put_int(&name, getpid());
	text_put_str(&name, "."); /* the first process of each container is number 1 */
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

/* An early report is followed by blanks, so that the last one fits in its place. */
static int append_early(struct auger_profiler *p, const char *path, struct text *line)
{
	text_widen_line(line, line->len + line->len / 2 + 4096);
	return text_error(line) < 0 ? -ENOMEM : write_line(path, line, &p->early);
}

/* Overwrites the line with an empty object, so that the process is not counted twice. */
static void erase_line(const char *path, const struct written *at)
{
	CLEANUP(text_fini) struct text nothing = { 0 };

	text_put_str(&nothing, "{}\n");
	if (write_over(path, &nothing, at) < 0)
		return; /* the file was replaced */
}

static int append(struct auger_profiler *p, const char *path, struct text *line, bool is_early)
{
	struct written old = p->early;
	int status;

	if (old.len && write_over(path, line, &old) == 0)
		return 0;
	p->early = (struct written){ 0 };
	status = is_early ? append_early(p, path, line) : write_line(path, line, NULL);
	if (status == 0 && old.len)
		erase_line(path, &old);
	return status;
}

static bool ends_with(const char *path, const char *ending)
{
	size_t len = strlen(path);

	return len >= strlen(ending) && strcmp(path + len - strlen(ending), ending) == 0;
}

enum trigger { ON_REQUEST, EARLY, LAST };

static void put_path(struct text *out, const struct job_place *place, const char *pattern)
{
	char piece[JOB_PLACE_LEN];
	size_t len;

	while ((len = job_place_expand(place, &pattern, piece)))
		text_put(out, piece, len);
	text_put(out, "", 1);
}

/* The profiler's own output is relative to its folder, and is not written without stages. */
static int write_now(struct auger_profiler *p, const char *pattern, enum trigger trigger)
{
	CLEANUP(text_fini) struct text path = { 0 };
	CLEANUP(text_fini) struct text data = { 0 };
	bool is_profile;
	uint32_t rows;

	if (trigger != ON_REQUEST && p->folder) {
		text_put_str(&path, p->folder);
		text_put(&path, "/", 1);
	}
	put_path(&path, &p->place, pattern);
	if (text_error(&path) < 0)
		return -ENOMEM;
	is_profile = ends_with(path.data, ".pb.gz");
	rows = is_profile ? stacks_write(p, &data) : make_line(p, &data);
	if (text_error(&data) < 0)
		return -ENOMEM;
	if (!rows && trigger != ON_REQUEST)
		return 0;
	if (is_profile)
		return replace(path.data, &data);
	return trigger == ON_REQUEST ? write_line(path.data, &data, NULL)
				     : append(p, path.data, &data, trigger == EARLY);
}

/* A thread that is canceled here would leave locks and half of a file. */
static int write_to(struct auger_profiler *p, const char *pattern, enum trigger trigger)
{
	int status, before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	status = write_now(p, pattern, trigger);
	pthread_setcancelstate(before, NULL);
	return status;
}

EXPORT int auger_profiler_write(struct auger_profiler *p, const char *pattern)
{
	return p ? write_to(p, pattern, ON_REQUEST) : 0;
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
		return; /* a second failure cannot be reported */
}

void output_write_out(struct auger_profiler *p, bool is_early)
{
	int status;

	if (!p->opts.out)
		return;
	status = write_to(p, p->opts.out, is_early ? EARLY : LAST);
	if (status < 0)
		output_warn("cannot write the report of stages", p->opts.out, strerror(-status));
}
