/* SPDX-License-Identifier: MIT */
#include "source/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/output/destination.h"
#include "base/output/outfile.h"
#include "base/str.h"

#define MARK ".run"
#define FOLDERS_MAX 1000
#define RUN_MAX 1024     /* bytes of a mark */
#define ANCESTORS_MAX 16 /* from a rank to its launcher: shells, wrappers */

/* The launchers of which a node has one process for all its ranks. */
static const char *const launchers[] = { "hydra_pmi_proxy", "hydra_bstrap_pr", "mpispawn", NULL };

struct ancestor {
	unsigned long pid, parent;
	char name[32];
	char start[32]; /* in clock ticks since the start of the machine, decimal */
};

/* Source: proc(5), /proc/PID/stat: the name in parentheses, the 4th field (parent) and the 22nd
 * (start) of it. */
static bool read_ancestor(unsigned long pid, struct ancestor *ret)
{
	char path[64], text[1024];
	const char *name, *end, *at;

	snprintf(path, sizeof path, "/proc/%lu/stat", pid);
	if (!file_read_start(path, text, sizeof text))
		return false;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end < name || sscanf(end, ") %*c %lu", &ret->parent) != 1)
		return false;
	ret->pid = pid;
	snprintf(ret->name, sizeof ret->name, "%.*s", (int)(end - name - 1), name + 1);
	at = end + 1;
	for (int field = 3; field < 22 && *at; field++)
		at += 1 + strcspn(at + 1, " ");
	return sscanf(at, " %31[0-9]", ret->start) == 1;
}

static bool is_launcher(const char *name)
{
	const char *const *known = launchers;

	while (*known && strcmp(name, *known) != 0)
		known++;
	return *known;
}

static void put_launcher_process(struct buf *out)
{
	struct ancestor a = { .parent = (unsigned long)getppid() };

	for (int i = 0; i < ANCESTORS_MAX && a.parent > 1; i++) {
		if (!read_ancestor(a.parent, &a))
			return;
		if (is_launcher(a.name)) {
			buf_printf(out, "%s%lu.%s", out->len ? "." : "", a.pid, a.start);
			return;
		}
	}
}

static void put_part(struct buf *out, const char *value)
{
	if (*value)
		buf_printf(out, "%s%s", out->len ? "." : "", value);
}

void run_put_id(const struct job_place *place, struct buf *ret)
{
	if (*place->name_space) {
		put_part(ret, place->name_space);
		put_part(ret, place->restart);
		return;
	}
	put_part(ret, place->job);
	put_part(ret, place->array_task);
	put_part(ret, place->step);
	put_part(ret, place->restart);
	if (*place->size && strcmp(place->size, place->local_size) == 0)
		put_launcher_process(ret);
}

/* 1: the folder is of this launch; 0: of another one; -ENOENT: of none yet. */
static int compare_mark(const char *path, const struct buf *run, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int fd = file_open_regular(path, O_NOFOLLOW, e), rc;

	if (fd < 0)
		return fd;
	rc = file_read(fd, path, RUN_MAX, &text, e);
	close(fd);
	if (rc == -EFBIG)
		return 0;
	if (rc < 0)
		return rc;
	return strcmp(text.data, run->data) == 0;
}

static int take_mark(const char *path, const struct buf *run, struct err *e)
{
	int rc = compare_mark(path, run, e);

	if (rc != -ENOENT)
		return rc;
	rc = outfile_create(path, run->data, run->len, e);
	if (rc == 0)
		return 1;
	return rc == -EEXIST ? compare_mark(path, run, e) : rc;
}

/* Where others may make folders, too: one of them would read what we write. */
static bool is_trusted(const char *path, const struct stat *st)
{
	CLEANUP(fd_close) int parent = -1;
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];

	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	parent = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return parent >= 0 && destination_is_trusted(parent, st);
}

/* 1: it is there; 0: something else is. A link, and another user's folder in a shared one, are
 * taken only where the user named them. */
static int make(const char *path, bool is_named, struct err *e)
{
	struct stat st;

	if (mkdir(path, 0777) == 0)
		return 1;
	if (errno != EEXIST)
		return err_errno(e, "%s", path);
	if ((is_named ? stat(path, &st) : lstat(path, &st)) == 0 && S_ISDIR(st.st_mode) &&
	    (is_named || is_trusted(path, &st)))
		return 1;
	return is_named ? err_set(e, -ENOTDIR, "%s: is not a folder", path) : 0;
}

/* 1: taken; 0: of another launch. */
static int take(const char *path, bool is_named, const struct buf *run, struct err *e)
{
	CLEANUP(buf_fini) struct buf mark = { 0 };
	int rc = make(path, is_named, e);

	if (rc <= 0 || !run)
		return rc;
	buf_printf(&mark, "%s/" MARK, path);
	return buf_error(&mark) < 0 ? err_nomem(e) : take_mark(mark.data, run, e);
}

int run_folder_make(struct buf *path, bool is_named, const struct buf *run, struct err *e)
{
	CLEANUP(buf_fini) struct buf name = { 0 }, line = { 0 };
	int rc = 0;

	if (run) {
		buf_put(&line, run->data, run->len);
		buf_put_byte(&line, '\n');
	}
	for (unsigned number = 1; rc == 0 && number <= FOLDERS_MAX; number++) {
		buf_clear(&name);
		buf_put(&name, path->data, path->len);
		if (number > 1)
			buf_printf(&name, "-%u", number);
		if (buf_error(&name) < 0 || buf_error(&line) < 0)
			return err_nomem(e);
		rc = take(name.data, is_named, run ? &line : NULL, e);
	}
	if (rc == 0)
		return err_set(e, -EEXIST, "%s: %d folders of other launches are there", path->data,
			       FOLDERS_MAX);
	if (rc < 0)
		return rc;
	buf_clear(path);
	buf_put(path, name.data, name.len);
	return buf_error(path) < 0 ? err_nomem(e) : 0;
}
