/* SPDX-License-Identifier: MIT */
#include "relocate/copy/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "relocate/copy/attrs.h"
#include "relocate/copy/beneath.h"
#include "relocate/copy/move_journal.h"
#include "relocate/copy/open_soon.h"
#include "relocate/inventory/scan.h"

/* Does a process of pids use the directory? */
static int uses_dir(const struct rows *pids, const struct top_dir *dir, bool *ret, struct err *e)
{
	CLEANUP(reloc_inventory_fini) struct reloc_inventory s = { 0 };
	struct scan_opts opts = { .pids = pids->data, .pid_count = pids->count, .old_dir = dir };

	if (scan_take(&opts, &s, e) < 0)
		return e->code;
	*ret = s.fd_count || s.map_count || s.dir_count || s.watch_count;
	return 0;
}

static int find_alive(const struct move_journal *m, struct rows *pids, struct err *e)
{
	const struct move_journal_process *job = m->job.data;

	for (size_t i = 0; i < m->job.count; i++) {
		pid_t *row;

		if (!move_journal_process_is_alive(&job[i]))
			continue;
		row = rows_add(pids, sizeof *row);
		if (!row)
			return err_nomem(e);
		*row = job[i].pid;
	}
	return 0;
}

/* Opens the OLD that the journal names, if it is still the same directory and answers. */
static bool open_old(const struct move_journal *m, struct top_dir *ret)
{
	struct err ignored = { 0 };

	return top_dir_open_soon(ret, m->old_path, false, &ignored) == 0 &&
	       move_journal_is_from(m, ret);
}

/* The run was killed when the job might have moved: finds out on which side it is. */
static int find_job(const struct move_journal *m, const struct top_dir *new_dir,
		    enum leftovers *ret, struct err *e)
{
	CLEANUP(top_dir_close) struct top_dir old_dir = { .fd = -1 };
	CLEANUP(rows_fini) struct rows pids = { 0 };
	bool is_on_new = false, is_on_old = false;

	if (find_alive(m, &pids, e) < 0 ||
	    (pids.count && uses_dir(&pids, new_dir, &is_on_new, e) < 0))
		return e->code;
	if (pids.count && !is_on_new && open_old(m, &old_dir) &&
	    uses_dir(&pids, &old_dir, &is_on_old, e) < 0)
		return e->code;
	if (!is_on_new && !is_on_old)
		return err_set(
			e, -EBUSY,
			"%.100s: a move from %.60s was killed in its commit, and the job has ended: decide which directory is newer, then remove %s",
			new_dir->path, m->old_path, MOVE_JOURNAL_NAME);
	*ret = is_on_new ? LEFTOVERS_MOVED : LEFTOVERS_COPY;
	return 0;
}

/* Has the path of OLD other content by now, because --swap has unmounted or covered it? */
static bool is_swapped(const struct move_journal *m, const struct top_dir *old_dir)
{
	return strcmp(m->old_path, old_dir->path) == 0 && !move_journal_is_from(m, old_dir);
}

static int classify(const struct move_journal *m, const struct top_dir *old_dir,
		    const struct top_dir *new_dir, enum leftovers *ret, struct err *e)
{
	if (m->maker.pid != getpid() && move_journal_process_is_alive(&m->maker))
		return err_set(e, -EBUSY, "%s: process %d is moving a job to it", new_dir->path,
			       (int)m->maker.pid);
	if (old_dir && m->is_moving && is_swapped(m, old_dir)) {
		if (find_job(m, new_dir, ret, e) < 0)
			return e->code;
		if (*ret == LEFTOVERS_MOVED) {
			*ret = LEFTOVERS_SWAPPED;
			return 0;
		}
	}
	if (old_dir && !move_journal_is_from(m, old_dir))
		return err_set(e, -EBUSY,
			       "%.100s has leftovers of a move from %.100s (--undo removes them)",
			       new_dir->path, m->old_path);
	*ret = LEFTOVERS_COPY;
	return m->is_moving ? find_job(m, new_dir, ret, e) : 0;
}

int leftovers_find(const struct top_dir *old_dir, const struct top_dir *new_dir,
		   enum leftovers *ret, struct err *e)
{
	CLEANUP(move_journal_fini) struct move_journal m = { 0 };

	*ret = LEFTOVERS_NONE;
	if (move_journal_read(&m, new_dir, e) == 0)
		return classify(&m, old_dir, new_dir, ret, e);
	if (e->code != -ENOENT)
		return e->code;
	memset(e, 0, sizeof *e);
	return 0;
}

static void unlink_hidden(const struct top_dir *new_dir)
{
	int fd = open_beneath(new_dir->fd, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *names = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	while (names && (d = readdir(names)))
		if (strncmp(d->d_name, MOVE_JOURNAL_NAME ".", sizeof MOVE_JOURNAL_NAME) == 0)
			(void)unlinkat(new_dir->fd, d->d_name, 0);
	if (names)
		closedir(names);
}

int leftovers_finish_move(const struct top_dir *old_dir, const struct top_dir *new_dir,
			  struct err *e)
{
	struct statx top;

	unlink_hidden(new_dir);
	if (move_journal_remove(new_dir, e) < 0)
		return e->code;
	if (old_dir && statx(old_dir->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &top) == 0)
		(void)attrs_set_times(new_dir->fd, &top);
	return syncfs(new_dir->fd) < 0 ? err_errno(e, "%s", new_dir->path) : 0;
}
