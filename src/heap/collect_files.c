/* SPDX-License-Identifier: MIT */
/* The ways to heap files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "heap/collect.h"
#include "heap/mapped_file.h"
#include "target/proc.h"

#define MANY_FILES 256 /* of at least 320 KiB each */

int heap_collect_fd(struct heap_collection *c, int fd, const char *name, struct err *e)
{
	struct heap_image h;
	int rc = heap_image_read(fd, name, &h, e);

	if (rc < 0)
		return rc;
	if (!c->only_pid || c->only_pid == h.head.pid)
		heap_collection_add(c, &h);
	heap_image_fini(&h);
	return profile_check(c->profile, e);
}

static int is_heap_file(const struct dirent *entry)
{
	return text_starts_with(entry->d_name, HEAP_NAME_START);
}

/* As it said itself: processes in another pid namespace cannot be found. An exec may have failed.
 */
static bool has_ended(int fd)
{
	struct heap_header h;
	uint32_t flags;

	if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h ||
	    memcmp(h.magic, HEAP_MAGIC, sizeof h.magic) != 0)
		return false;
	flags = h.flags;
	h.flags = 0;
	return flags & HEAP_ENDED || (flags & HEAP_EXECED && !heap_process_runs(&h));
}

/* One that cannot be read takes nothing from the others. is_moved: only of a process that has
 * ended, and it is removed. */
static int add_entry(struct heap_collection *c, int folder, const char *path, const char *name,
		     bool is_moved, struct err *e)
{
	CLEANUP(buf_fini) struct buf full = { 0 };
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = 0;
	struct stat st;

	buf_printf(&full, "%s/%s", path, name);
	if (buf_error(&full) < 0)
		rc = err_nomem(e);
	else if (fd < 0 || fstat(fd, &st) < 0)
		rc = err_errno(e, "%s", full.data);
	else if (!S_ISREG(st.st_mode))
		rc = err_set(e, -EINVAL, "%s: no regular file", full.data);
	else if (!is_moved || has_ended(fd))
		rc = heap_collect_fd(c, fd, full.data, e);
	else
		is_moved = false;
	if (rc == 0 && is_moved)
		unlinkat(folder, name, 0);
	fd_close(&fd);
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	/* A process that is killed at its start leaves an empty one. */
	log_msg(rc == -ENODATA ? LOG_INFO : LOG_WARN, "heap", "%s", e->msg);
	return 0;
}

/* As add_entry(), those of at least least files. */
static int add_folder(struct heap_collection *c, const char *path, bool is_moved, int least,
		      struct err *e)
{
	CLEANUP(fd_close) int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **list;
	int count = folder < 0 ? -1 : scandirat(folder, ".", &list, is_heap_file, versionsort);
	int rc = 0;

	if (count < 0)
		return err_errno(e, "%s", path);
	for (int i = 0; i < count; i++) {
		if (rc == 0 && count >= least)
			rc = add_entry(c, folder, path, list[i]->d_name, is_moved, e);
		free(list[i]);
	}
	free(list);
	return rc;
}

int heap_collect_ended(struct heap_collection *c, const char *path, struct err *e)
{
	return add_folder(c, path, true, MANY_FILES, e);
}

int heap_collect_path(struct heap_collection *c, const char *path, struct err *e)
{
	struct stat st;
	int fd, rc;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return add_folder(c, path, false, 0, e);
	fd = file_open_regular(path, 0, e);
	if (fd < 0)
		return fd;
	rc = heap_collect_fd(c, fd, path, e);
	fd_close(&fd);
	return rc;
}

int heap_collect_pid(struct heap_collection *c, pid_t pid, struct err *e)
{
	CLEANUP(fd_close) int fd = -1;
	char name[64];
	int rc = mapped_heap_open(pid, &fd, e);

	snprintf(name, sizeof name, "heap file of process %d", (int)pid);
	return rc < 0 ? rc : heap_collect_fd(c, fd, name, e);
}
