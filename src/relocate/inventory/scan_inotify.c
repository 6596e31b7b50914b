/* SPDX-License-Identifier: MIT */
/*
 * Inotify watches. fdinfo shows a watch by the file handle of its file, and open_by_handle_at(2)
 * finds its name.
 *
 * Source: inotify(7); Linux fs/notify/fdinfo.c; open_by_handle_at(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "relocate/inventory/scan_internal.h"

#define WHY "it watches OLD's file system (inotify)"

/* struct file_handle with space for its bytes. */
struct handle {
	unsigned bytes;
	int type;
	unsigned char data[MAX_HANDLE_SZ];
};

static bool parse_handle(struct handle *h, const char *line)
{
	const char *at = strstr(line, "fhandle-bytes:");
	unsigned byte;
	int skip = 0;

	if (!at ||
	    sscanf(at, "fhandle-bytes:%x fhandle-type:%x f_handle:%n", &h->bytes,
		   (unsigned *)&h->type, &skip) != 2 ||
	    !skip || h->bytes > sizeof h->data)
		return false;
	at += skip;
	for (unsigned i = 0; i < h->bytes; i++, at += 2) {
		if (sscanf(at, "%2x", &byte) != 1)
			return false;
		h->data[i] = (unsigned char)byte;
	}
	return true;
}

/* Opens the watched file, O_PATH. -errno: it is not of OLD's file system, say. */
static int open_watched(const struct scan *sc, const char *line)
{
	struct handle h = { 0 };
	int fd;

	if (!parse_handle(&h, line))
		return -EINVAL;
	fd = open_by_handle_at(sc->opts->old_dir->fd, (struct file_handle *)(void *)&h,
			       O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Adds a row, or returns the reason why it cannot. */
static const char *add_watch(struct scan *sc, uint32_t proc, int number, const char *line)
{
	struct reloc_watch row = { .proc = proc, .inotify = number };
	struct reloc_watch *w;
	char path[PROC_PATH];
	struct link_target target;
	bool is_seen;
	int fd;

	if (sscanf(line, " wd:%x ino:%*x sdev:%*x mask:%x", &row.wd, &row.mask) != 2)
		return WHY;
	fd = open_watched(sc, line);
	if (fd < 0)
		return WHY;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	is_seen = scan_link(sc, path, &target);
	close(fd);
	if (is_seen && !target.is_old)
		return NULL;
	if (!is_seen || !target.below || target.is_other_mount)
		return WHY;
	row.file = scan_add_file(sc, &target, NULL, RELOC_USE_WATCHED);
	w = rows_add(&sc->watches, sizeof *w);
	if (!w || row.file == RELOC_NONE)
		sc->bad = true;
	else
		*w = row;
	return NULL;
}

/* Unread events would be lost, or would name removed watches. */
static bool has_events(pid_t pid, int number)
{
	int fd = proc_dup_fd(pid, number);
	int bytes = -1;

	if (fd < 0 || ioctl(fd, FIONREAD, &bytes) < 0)
		bytes = -1;
	if (fd >= 0)
		close(fd);
	return bytes != 0;
}

bool scan_has_unread_events(const struct reloc_inventory *s)
{
	for (size_t i = 0; i < s->watch_count; i++)
		if (has_events(s->procs[s->watches[i].proc].pid, s->watches[i].inotify))
			return true;
	return false;
}

/* Had it no events before our own copy of OLD caused some? */
static bool was_quiet(const struct scan *sc, pid_t pid, int number)
{
	const struct reloc_inventory *s = sc->opts->quiet;

	for (size_t i = 0; s && i < s->watch_count; i++)
		if (s->watches[i].inotify == number && s->procs[s->watches[i].proc].pid == pid)
			return true;
	return false;
}

const char *scan_inotify(struct scan *sc, uint32_t proc, int number, char *text)
{
	pid_t pid = ((struct reloc_proc *)sc->procs.data)[proc].pid;
	const struct mount_view *view = sc->view;
	const char *why = NULL, *line;
	size_t before = sc->watches.count;

	sc->view = NULL; /* this process opens the file */
	while (!why && (line = proc_line(&text, "inotify"))) {
		const char *sdev = strstr(line, "sdev:");

		if (sdev && scan_is_old_sdev(sc, strtoull(sdev + 5, NULL, 16)))
			why = add_watch(sc, proc, number, line);
	}
	sc->view = view;
	if (!why && sc->watches.count > before && sc->opts->is_frozen &&
	    !was_quiet(sc, pid, number) && has_events(pid, number))
		why = "it has unread events (inotify)";
	if (why)
		sc->watches.count = before;
	return why;
}

/* By number, because the kernel counts on from the number that was set last. */
static int compare_watches(const void *a, const void *b)
{
	const struct reloc_watch *x = a, *y = b;

	return (x->wd > y->wd) - (x->wd < y->wd);
}

/* Processes that inherited a descriptor all show its watches: keeps one row. */
void scan_merge_watches(struct scan *sc)
{
	const struct reloc_proc *procs = sc->procs.data;
	struct reloc_watch *all = sc->watches.data;
	size_t count = 0;

	for (size_t i = 0; i < sc->watches.count; i++) {
		size_t k = 0;

		while (k < count &&
		       (all[k].wd != all[i].wd || all[k].file != all[i].file ||
			syscall(SYS_kcmp, procs[all[k].proc].pid, procs[all[i].proc].pid, KCMP_FILE,
				all[k].inotify, all[i].inotify) != 0))
			k++;
		if (k == count)
			all[count++] = all[i];
	}
	sc->watches.count = count;
	if (count)
		qsort(all, count, sizeof *all, compare_watches);
}
