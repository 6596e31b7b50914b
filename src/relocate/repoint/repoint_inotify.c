/* SPDX-License-Identifier: MIT */
/*
 * Moves inotify watches to the files of NEW and keeps their numbers. The process removes the old
 * watch, reads the event of that, sets the next watch number and adds the new watch. It does so by
 * itself, so that it completes even if we die.
 *
 * Source: inotify(7).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "relocate/repoint/repoint_internal.h"
#include "target/proc.h"

#define SET_NEXT_WD _IOW('I', 0, int32_t) /* linux/inotify.h: INOTIFY_IOC_SETNEXTWD */
#define EVENTS 4096                       /* bytes; the read returns one event */

static int drain(const struct reloc_watch *w, pid_t pid, struct err *e)
{
	int fd = proc_dup_fd(pid, w->inotify), bytes = 0;
	char events[EVENTS];
	int rc = fd < 0 ? fd : 0;

	while (rc == 0 && ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0)
		if (read(fd, events, sizeof events) < 0)
			rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc < 0 ? err_set(e, rc, "process %d: descriptor %d (inotify): %s", (int)pid,
				w->inotify, strerror(-rc))
		      : 0;
}

int repoint_drain_inotify(const struct reloc_inventory *s, struct err *e)
{
	for (size_t i = 0; i < s->watch_count; i++)
		if (drain(&s->watches[i], s->procs[s->watches[i].proc].pid, e) < 0)
			return e->code;
	return 0;
}

static int open_old(struct repoint *rp, const struct reloc_file *f, struct err *e)
{
	int fd = openat(rp->old_dir->fd, f->old_path[0] ? f->old_path : ".",
			O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_errno(e, "%s/%s", rp->old_dir->path, f->old_path)
		      : repoint_keep_fd(rp, fd, e);
}

int repoint_add_watches(struct repoint *rp, struct repoint_proc *p, struct err *e)
{
	const struct reloc_inventory *s = rp->inventory;

	for (size_t i = 0; i < s->watch_count; i++) {
		const struct reloc_watch *w = &s->watches[i];
		const struct reloc_file *f = &s->files[w->file];
		struct repoint_watch *row;
		int new_at, old;

		if (w->proc != p->proc)
			continue;
		row = rows_add(&p->watches, sizeof *row);
		if (!row)
			return err_nomem(e);
		row->row = (uint32_t)i;
		new_at = repoint_open_file(rp, f, p->proc, O_PATH | O_NOFOLLOW, e);
		old = new_at < 0 ? new_at : open_old(rp, f, e);
		if (old < 0 || repoint_add_fd(p, new_at, &row->sent, e) < 0 ||
		    repoint_add_fd(p, old, &row->sent_old, e) < 0)
			return e->code;
	}
	return 0;
}

/* A call that adds a watch of the file behind descriptor number of the process. */
static struct remote_call add_of(struct repoint_proc *p, const struct reloc_watch *w, int number)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", number);
	return (struct remote_call){ .nr = SYS_inotify_add_watch,
				     .arg = { (uint64_t)w->inotify,
					      remote_put(p->remote, path, strlen(path) + 1),
					      w->mask },
				     .what = "add a watch (inotify)" };
}

/* A rollback needs two calls where apply needs one: this adds a call without effect. */
static void add_rollback_pair(struct repoint_proc *p, const struct remote_call *undo)
{
	remote_add_apply(p->remote, 0, &(struct remote_call){ .nr = SYS_getpid, .what = "nothing" },
			 undo);
}

void repoint_apply_watches(const struct repoint *rp, struct repoint_proc *p)
{
	const struct repoint_watch *watches = p->watches.data;
	const int *remote_fds = p->remote_fds.data;
	const char none[EVENTS] = { 0 };
	uint64_t events = p->watches.count ? remote_put(p->remote, none, sizeof none) : 0;

	for (size_t i = 0; i < p->watches.count; i++) {
		const struct reloc_watch *w = &rp->inventory->watches[watches[i].row];
		struct remote_call remove = { .nr = SYS_inotify_rm_watch,
					      .arg = { (uint64_t)w->inotify, (uint64_t)w->wd },
					      .what = "remove a watch (inotify)" };
		struct remote_call read_it = { .nr = SYS_read,
					       .arg = { (uint64_t)w->inotify, events, EVENTS },
					       .what = "read an event (inotify)" };
		struct remote_call set = { .nr = SYS_ioctl,
					   .arg = { (uint64_t)w->inotify, SET_NEXT_WD,
						    (uint64_t)w->wd },
					   .what = "set the number of a watch" };
		struct remote_call add = add_of(p, w, remote_fds[watches[i].sent]);
		struct remote_call back = add_of(p, w, remote_fds[watches[i].sent_old]);

		remote_add_apply(p->remote, 0, &remove, &back);
		remote_add_apply(p->remote, 0, &read_it, &set);
		remote_add_apply(p->remote, 0, &set, NULL);
		remote_add_apply(p->remote, 0, &add, NULL);
		add_rollback_pair(p, &read_it);
		add_rollback_pair(p, &remove);
	}
}

static bool has_watch(pid_t pid, const struct reloc_watch *w, uint64_t ino)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	char path[PROC_PATH], *at, *line;
	struct err ignored;

	snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)pid, w->inotify);
	if (file_read_small(path, 16 << 20, &text, &ignored) < 0)
		return false;
	buf_put_byte(&text, '\0');
	at = buf_error(&text) < 0 ? NULL : text.data;
	while ((line = proc_line(&at, "inotify"))) {
		uint64_t is;
		unsigned wd;
		unsigned mask;

		if (sscanf(line, " wd:%x ino:%" SCNx64 " sdev:%*x mask:%x", &wd, &is, &mask) == 3 &&
		    wd == w->wd)
			return is == ino && mask == w->mask;
	}
	return false;
}

int repoint_verify_watches(const struct repoint *rp, const struct repoint_proc *p, struct err *e)
{
	const struct repoint_watch *watches = p->watches.data;
	pid_t pid = rp->inventory->procs[p->proc].pid;

	for (size_t i = 0; i < p->watches.count; i++) {
		const struct reloc_watch *w = &rp->inventory->watches[watches[i].row];
		struct stat wanted;

		if (fstat(((const int *)p->sent.data)[watches[i].sent], &wanted) < 0 ||
		    !has_watch(pid, w, wanted.st_ino))
			return err_set(e, -EIO, "process %d: watch %u of descriptor %d has changed",
				       (int)pid, w->wd, w->inotify);
	}
	return 0;
}
