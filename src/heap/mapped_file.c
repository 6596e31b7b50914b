/* SPDX-License-Identifier: MIT */
#include "heap/mapped_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cursor.h"
#include "base/fd.h"
#include "base/file.h"

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
