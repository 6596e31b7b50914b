/* SPDX-License-Identifier: MIT */
#include "relocate/copy/left.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "relocate/copy/mark.h"
#include "relocate/copy/tree.h"
#include "relocate/inventory/survey.h"

/* Has the job, or what is left of it, anything of the place? */
static int ask_use(const struct rows *pids, const struct reloc_place *place, bool *ret,
		   struct err *e)
{
	CLEANUP(survey_fini) struct survey s = { 0 };
	struct survey_ask ask = { .pids = pids->data,
				  .pid_count = pids->count,
				  .old_place = place };

	if (survey_take(&ask, &s, e) < 0)
		return e->code;
	*ret = s.fd_count || s.map_count || s.dir_count || s.watch_count;
	return 0;
}

static int find_alive(const struct mark *m, struct rows *pids, struct err *e)
{
	const struct mark_process *job = m->job.data;

	for (size_t i = 0; i < m->job.count; i++) {
		pid_t *row;

		if (!mark_is_alive(&job[i]))
			continue;
		row = rows_add(pids, sizeof *row);
		if (!row)
			return err_nomem(e);
		*row = job[i].pid;
	}
	return 0;
}

/* OLD as the mark names it, if it is that still. */
static bool open_old(const struct mark *m, struct reloc_place *ret)
{
	struct err ignored = { 0 };

	return place_open(ret, m->old_path, &ignored) == 0 && mark_is_from(m, ret);
}

/* It was killed when the job might have gone over: where is it? */
static int find_job(const struct mark *m, const struct reloc_place *new_place, enum left *ret,
		    struct err *e)
{
	CLEANUP(place_close) struct reloc_place old_place = { .fd = -1 };
	CLEANUP(rows_fini) struct rows pids = { 0 };
	bool is_on_new = false, is_on_old = false;

	if (find_alive(m, &pids, e) < 0 ||
	    (pids.count && ask_use(&pids, new_place, &is_on_new, e) < 0))
		return e->code;
	if (pids.count && !is_on_new && open_old(m, &old_place) &&
	    ask_use(&pids, &old_place, &is_on_old, e) < 0)
		return e->code;
	if (!is_on_new && !is_on_old)
		return err_set(e, -EBUSY,
			       "%.100s: a move from %.60s was killed in its last step, and its job "
			       "has ended: only you can tell which of the two is newer; then "
			       "remove %s",
			       new_place->path, m->old_path, MARK_NAME);
	*ret = is_on_new ? LEFT_MOVED : LEFT_COPY;
	return 0;
}

static int judge(const struct mark *m, const struct reloc_place *old_place,
		 const struct reloc_place *new_place, enum left *ret, struct err *e)
{
	if (m->maker.pid != getpid() && mark_is_alive(&m->maker))
		return err_set(e, -EBUSY, "%s: process %d is moving a job there", new_place->path,
			       (int)m->maker.pid);
	if (old_place && !mark_is_from(m, old_place))
		return err_set(e, -EBUSY,
			       "%.100s has what is left of a move from %.100s (--undo removes it)",
			       new_place->path, m->old_path);
	*ret = LEFT_COPY;
	return m->is_moving ? find_job(m, new_place, ret, e) : 0;
}

int left_look(const struct reloc_place *old_place, const struct reloc_place *new_place,
	      enum left *ret, struct err *e)
{
	CLEANUP(mark_fini) struct mark m = { 0 };

	*ret = LEFT_NONE;
	if (mark_read(&m, new_place, e) == 0)
		return judge(&m, old_place, new_place, ret, e);
	if (e->code != -ENOENT)
		return e->code;
	memset(e, 0, sizeof *e);
	return 0;
}

static void unlink_hidden(const struct reloc_place *new_place)
{
	int fd = tree_open(new_place->fd, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *names = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	while (names && (d = readdir(names)))
		if (strncmp(d->d_name, MARK_NAME ".", sizeof MARK_NAME) == 0)
			(void)unlinkat(new_place->fd, d->d_name, 0);
	if (names)
		closedir(names);
}

int left_finish(const struct reloc_place *old_place, const struct reloc_place *new_place,
		struct err *e)
{
	struct statx top;

	unlink_hidden(new_place);
	if (mark_remove(new_place, e) < 0)
		return e->code;
	if (statx(old_place->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &top) == 0)
		(void)tree_set_times(new_place->fd, &top);
	return syncfs(new_place->fd) < 0 ? err_errno(e, "%s", new_place->path) : 0;
}
