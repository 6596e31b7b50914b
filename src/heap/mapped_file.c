/* SPDX-License-Identifier: MIT */
#include "heap/mapped_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/rows.h"
#include "base/str.h"
#include "wire/heap.h"

#define MAPS_MAX ((size_t)256 << 20) /* bytes of /proc/PID/maps */

/* A path of /proc that leads to the file of this mapping, and to no other one. -1: it does not. */
static int open_same(const struct proc_map *m, const char *path)
{
	struct err none;
	int fd = file_open_regular(path, 0, &none);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_ino != m->ino)) {
		fd_close(&fd);
		return -1;
	}
	return fd < 0 ? -1 : fd;
}

/* A file without a name: by a descriptor that the process has of it. */
static int open_by_descriptor(pid_t pid, const struct proc_map *m)
{
	struct rows numbers = { 0 };
	char path[PROC_PATH];
	int fd = -1;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	if (proc_numbers(path, &numbers) == 0) {
		const int *all = numbers.data;

		for (size_t i = 0; i < numbers.count && fd < 0; i++) {
			snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, all[i]);
			fd = open_same(m, path);
		}
	}
	rows_fini(&numbers);
	return fd;
}

int mapped_file_open(pid_t pid, const struct proc_map *m)
{
	CLEANUP(buf_fini) struct buf range = { 0 }, path = { 0 };
	int fd;

	buf_printf(&range, "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)m->start,
		   (unsigned long long)m->end);
	buf_printf(&path, "/proc/%d/root%s", (int)pid, m->path);
	if (buf_error(&range) < 0 || buf_error(&path) < 0)
		return -1;
	fd = open_same(m, range.data);
	return fd < 0 ? open_same(m, path.data) : fd;
}

struct search {
	pid_t pid;
	int fd;         /* -1: not found */
	bool is_closed; /* there is one that cannot be opened: if it is one */
};

/* "#" is how the kernel names a file of O_TMPFILE. */
static bool may_be_heap(const struct proc_map *m)
{
	return m->is_shared && m->path[0] == '/' &&
	       (path_base(m->path)[0] == '#' ||
		text_starts_with(path_base(m->path), HEAP_NAME_START) ||
		text_starts_with(path_base(m->path), HEAP_UNNAMED_START) ||
		text_starts_with(m->path, "/memfd:" HEAP_UNNAMED_START));
}

/* A child that was forked by a bare clone(2) may have one of its parent, too. */
static bool is_heap_of(int fd, pid_t pid)
{
	struct heap_header h;

	return pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h &&
	       memcmp(h.magic, HEAP_MAGIC, sizeof h.magic) == 0 &&
	       (h.pid == pid || h.pid == proc_inner_pid(pid));
}

static int find_heap(const struct proc_map *m, void *context)
{
	struct search *s = context;

	if (!may_be_heap(m))
		return 0;
	s->fd = mapped_file_open(s->pid, m);
	if (s->fd < 0)
		s->fd = open_by_descriptor(s->pid, m);
	if (s->fd < 0)
		s->is_closed = true;
	else if (is_heap_of(s->fd, s->pid))
		return 1;
	fd_close(&s->fd);
	s->fd = -1;
	return 0;
}

int mapped_heap_open(pid_t pid, int *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf maps = { 0 };
	struct search s = { .pid = pid, .fd = -1 };
	int rc = mapped_read(pid, &maps, e);

	if (rc < 0)
		return rc;
	if (mapped_each(&maps, find_heap, &s) < 0)
		return err_nomem(e);
	if (s.fd < 0 && s.is_closed)
		return err_set(e, -EACCES, "process %d: what may be its heap file cannot be opened",
			       (int)pid);
	if (s.fd < 0)
		return err_set(
			e, -ENOENT,
			"process %d is not recorded: 'auger heap -- CMD' starts one that is, "
			"'auger heap -p %d' begins now",
			(int)pid, (int)pid);
	*ret = s.fd;
	return 0;
}

int mapped_read(pid_t pid, struct buf *ret, struct err *e)
{
	char path[PROC_PATH];
	int rc;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	rc = file_read_small(path, MAPS_MAX, ret, e);
	return rc == -ENOENT ? err_set(e, -ESRCH, "process %d: there is none", (int)pid) : rc;
}

int mapped_each(const struct buf *maps, int (*see)(const struct proc_map *m, void *context),
		void *context)
{
	struct cursor lines = cursor_make(maps->data, maps->len);
	const char *line;
	size_t len;
	int rc = 0;

	while (rc == 0 && cursor_line(&lines, &line, &len)) {
		CLEANUP(buf_fini) struct buf text = { 0 };
		struct proc_map m;

		buf_put(&text, line, len);
		if (buf_error(&text) < 0)
			return -ENOMEM;
		if (len && proc_map_parse(&m, text.data))
			rc = see(&m, context);
	}
	return rc;
}
