/* SPDX-License-Identifier: MIT */
#include "relocate/relocate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/log.h"
#include "relocate/copy/leftovers.h"
#include "relocate/move.h"
#include "relocate/reopen.h"
#include "target/proc.h"

static void fill_scan_opts(const struct relocation *r, struct scan_opts *opts)
{
	*opts = (struct scan_opts){
		.pids = r->pids,
		.pid_count = r->pid_count,
		.old_dir = r->old_dir,
		.new_dir = r->new_dir,
		.is_only = r->is_only,
		.is_found = r->is_found,
		.moves_libs = r->moves_libs,
	};
}

int relocate_scan(const struct relocation *r, struct reloc_inventory *ret, struct err *e)
{
	struct scan_opts opts;

	fill_scan_opts(r, &opts);
	if (scan_take(&opts, ret, e) < 0)
		return e->code;
	return reopen_find(ret, r->old_dir, r->swaps, e);
}

static int refuse(const struct reloc_obstacle *o, struct err *e)
{
	char process[96] = "", remedy[256] = "";

	if (o->pid)
		snprintf(process, sizeof process, "process %d (%s): ", (int)o->pid, o->comm);
	if (*o->remedy)
		snprintf(remedy, sizeof remedy, " (%s)", o->remedy);
	return err_set(e, -EBUSY, "%s%s%s%.200s: %s%s", process, o->what, *o->path ? " " : "",
		       o->path, o->reason, remedy);
}

/* A process with mounts of its own does not see ours: by its paths it would still reach OLD. */
static int check_swap(const struct relocation *r, const struct reloc_inventory *s, struct err *e)
{
	for (size_t i = 0; i < s->proc_count; i++)
		if (s->procs[i].new_path)
			return err_set(
				e, -EBUSY,
				"process %d (%s) has a mount namespace of its own, in which --swap cannot mount %s at the path of OLD (omit --swap)",
				(int)s->procs[i].pid, s->procs[i].comm, r->new_dir->path);
	return 0;
}

int relocate_check(const struct relocation *r, const struct reloc_inventory *s, struct err *e)
{
	enum reloc_obstacle_kind least = r->is_partial ? RELOC_BLOCKS : RELOC_STAYS;

	for (size_t i = 0; i < s->obstacle_count; i++)
		if (s->obstacles[i].kind == RELOC_BLOCKS)
			return refuse(&s->obstacles[i], e);
	for (size_t i = 0; i < s->obstacle_count; i++)
		if (s->obstacles[i].kind >= least)
			return refuse(&s->obstacles[i], e);
	if (r->swaps && check_swap(r, s, e) < 0)
		return e->code;
	if (!s->fd_count && !s->map_count && !s->dir_count && !s->watch_count)
		return err_set(e, -ESRCH, "the job uses nothing of %s", r->old_dir->path);
	return 0;
}

/* A process stays in the job even if its parent ends. */
static int keep_pids(struct move *m, struct err *e)
{
	m->pids.count = m->starts.count = 0;
	for (size_t i = 0; i < m->inventory->proc_count; i++) {
		pid_t *pid = rows_add(&m->pids, sizeof *pid);
		uint64_t *start = rows_add(&m->starts, sizeof *start);

		if (!pid || !start)
			return err_nomem(e);
		*pid = m->inventory->procs[i].pid;
		*start = m->inventory->procs[i].start_ticks;
	}
	return 0;
}

int move_prune_pids(struct move *m, struct err *e)
{
	uint64_t *starts = m->starts.data;
	pid_t *all = m->pids.data;
	size_t count = 0;

	for (size_t i = 0; i < m->pids.count; i++) {
		struct proc_stat stat;

		if (!proc_stat_read(&stat, all[i]) || strchr("ZX", stat.state) ||
		    stat.start_ticks != starts[i])
			continue;
		all[count] = all[i];
		starts[count++] = starts[i];
	}
	m->pids.count = m->starts.count = count;
	return count ? 0 : err_set(e, -ESRCH, "the job has ended");
}

int move_check_pids(const struct move *m, struct err *e)
{
	const uint64_t *starts = m->starts.data;
	const pid_t *all = m->pids.data;

	for (size_t i = 0; i < m->pids.count; i++) {
		struct proc_stat stat;

		if (proc_stat_read(&stat, all[i]) && stat.start_ticks != starts[i])
			return err_set(e, -EAGAIN, "process %d is another one by now", (int)all[i]);
	}
	return 0;
}

int move_scan_job(struct move *m, bool is_frozen, struct err *e)
{
	struct reloc_inventory s = { 0 };
	struct scan_opts opts;

	fill_scan_opts(m->r, &opts);
	opts.cache = &m->cache;
	opts.is_frozen = is_frozen;
	if (is_frozen) {
		opts.pids = freeze_pids(m->freeze, &opts.pid_count);
		opts.quiet = m->is_quiet ? m->inventory : NULL;
	} else if (m->pids.count) {
		if (move_prune_pids(m, e) < 0)
			return e->code;
		opts.pids = m->pids.data;
		opts.pid_count = m->pids.count;
		opts.is_found = true;
	}
	if (scan_take(&opts, &s, e) < 0)
		return e->code;
	reloc_inventory_fini(m->inventory);
	*m->inventory = s;
	if (!is_frozen && reopen_find(m->inventory, m->r->old_dir, m->r->swaps, e) < 0)
		return e->code;
	return keep_pids(m, e) < 0 ? e->code : relocate_check(m->r, m->inventory, e);
}

bool move_is_interrupted(const struct move *m)
{
	return m->r->copy.stop && *m->r->copy.stop;
}

void move_log_cause(const struct err *why)
{
	log_msg(LOG_WARN, "relocate", "%s", why->msg);
}

/* Our own descriptor would keep OLD busy. */
static void close_old(const struct relocation *r)
{
	if (r->old_dir->fd >= 0)
		close(r->old_dir->fd);
	r->old_dir->fd = -1;
}

void move_swap_dirs(struct move *m)
{
	const struct relocation *r = m->r;
	struct err why = { 0 };
	bool is_gone;

	close_old(r);
	is_gone = r->old_dir->is_mount_root && top_dir_unmount(r->old_dir, &why) == 0;
	if (top_dir_cover(r->old_dir, r->new_dir, &why) < 0)
		log_msg(LOG_WARN, "relocate", "%s cannot be mounted: %s", r->new_dir->path,
			why.msg);
	else
		m->done.swap = is_gone ? RELOCATE_UNMOUNTED : RELOCATE_COVERED;
}

int move_scan_outside(struct move *m, struct err *e)
{
	struct reloc_inventory s = { 0 };
	struct scan_opts opts;

	fill_scan_opts(m->r, &opts);
	opts.cache = &m->cache;
	opts.pid_count = 0;
	opts.is_frozen = true;
	if (scan_take(&opts, &s, e) < 0)
		return e->code;
	reloc_inventory_fini(&s);
	return 0;
}

static enum relocate_umount query_umount(const char *path)
{
	if (umount2(path, MNT_EXPIRE) == 0 || errno == EAGAIN)
		return RELOCATE_FREE;
	return errno == EBUSY ? RELOCATE_BUSY : RELOCATE_UNTRIED;
}

/*
 * Tests it without unmounting: the first umount2(2) with MNT_EXPIRE only marks a mount that
 * is not busy. Any use clears that mark, so this function uses OLD before and after.
 */
static void try_unmount(struct move *m)
{
	const struct top_dir *old = m->r->old_dir;
	int fd;

	if (!old->is_mount_root || m->done.swap != RELOCATE_NOT_SWAPPED)
		return;
	close_old(m->r);
	for (int i = 0; i < 2; i++) {
		fd = open(old->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		if (i == 0)
			m->done.umount = query_umount(old->path);
	}
}

/* With NEW mounted over OLD's path, OLD cannot be scanned. */
static void scan_after_move(struct move *m)
{
	struct scan_opts opts;
	struct err why = { 0 };

	if (m->done.swap != RELOCATE_NOT_SWAPPED || m->r->old_dir->fd < 0 ||
	    move_prune_pids(m, &why) < 0)
		return;
	fill_scan_opts(m->r, &opts);
	opts.pids = m->pids.data;
	opts.pid_count = m->pids.count;
	opts.is_found = true;
	if (scan_take(&opts, &m->done.after, &why) < 0)
		log_msg(LOG_WARN, "relocate",
			"the job was moved, but whether it still uses %s is unknown: %s",
			m->r->old_dir->path, why.msg);
}

/* Copied data is on the storage already; names, and what the job wrote since, may not be. */
static void flush_after(const struct move *m)
{
	struct err why = { 0 };

	if (copy_sync(m->copy, &why) < 0)
		log_msg(LOG_WARN, "relocate", "the job was moved, but its new storage fails: %s",
			why.msg);
}

/* A killed auger has moved the job: only the cleanup is missing. */
static int finish_earlier_move(struct move *m, struct err *e)
{
	const struct relocation *r = m->r;
	struct scan_opts opts;
	bool has_any;

	if (relocate_scan(r, m->inventory, e) < 0)
		return e->code;
	has_any = m->inventory->fd_count || m->inventory->map_count || m->inventory->dir_count ||
		  m->inventory->watch_count;
	reloc_inventory_fini(m->inventory);
	if (has_any)
		return err_set(
			e, -EBUSY,
			"%s has the job of a killed move, and the job uses files of %s again",
			r->new_dir->path, r->old_dir->path);
	fill_scan_opts(r, &opts);
	opts.old_dir = r->new_dir;
	opts.new_dir = NULL;
	if (scan_take(&opts, m->inventory, e) < 0 ||
	    leftovers_finish_move(r->old_dir, r->new_dir, e) < 0)
		return e->code;
	m->done.was_moved = true;
	if (r->swaps)
		move_swap_dirs(m);
	try_unmount(m);
	return 0;
}

int relocate_undo(const struct top_dir *new_dir, struct err *e)
{
	enum leftovers left;

	if (leftovers_find(NULL, new_dir, &left, e) < 0)
		return e->code;
	if (left == LEFTOVERS_NONE)
		return err_set(e, -ENOENT, "%s has no leftovers of a killed move", new_dir->path);
	if (left == LEFTOVERS_MOVED)
		return err_set(
			e, -EBUSY,
			"%s: the job uses it already; repeat the killed command to finish the move",
			new_dir->path);
	return copy_remove_leftovers(new_dir, e);
}

/* Returns e->code, and for a pause that was too long the remedy. */
static int undo_copy(struct move *m, struct err *e)
{
	struct err why = { 0 };

	if (m->is_stuck)
		return err_set(e, -ETIME,
			       "storage does not answer within --max-pause %" PRId64
			       " ms: the job goes on with OLD; when the storage answers again, "
			       "'auger relocate --undo --to %s' removes the copy",
			       m->r->max_pause_ns / 1000000, m->r->new_dir->path);
	if (copy_undo(m->copy, &why) < 0)
		move_log_cause(&why);
	if (e->code == -ETIME && m->until_ns)
		return err_set(e, -ETIME,
			       "the pause would be longer than --max-pause %" PRId64
			       " ms: the job goes on with OLD",
			       m->r->max_pause_ns / 1000000);
	return e->code;
}

static int move_job(struct move *m, struct err *e)
{
	enum leftovers left;

	if (leftovers_find(m->r->old_dir, m->r->new_dir, &left, e) < 0)
		return e->code;
	if (left == LEFTOVERS_MOVED)
		return finish_earlier_move(m, e);
	if (move_scan_job(m, false, e) < 0 ||
	    copy_open(&m->copy, m->r->old_dir, m->r->new_dir, m->inventory, &m->r->copy, e) < 0)
		return e->code;
	if (move_precopy(m, e) < 0 || move_frozen(m, e) < 0)
		return undo_copy(m, e);
	scan_after_move(m);
	try_unmount(m);
	flush_after(m);
	return 0;
}

/* Used by the thread that hangs, until the process exits. */
static struct move *abandoned;

void relocate_done_fini(struct relocate_done *d)
{
	reloc_inventory_fini(&d->after);
}

int relocate_run(const struct relocation *r, struct reloc_inventory *ret_survey,
		 struct relocate_done *ret, struct err *e)
{
	struct move *m = calloc(1, sizeof *m);
	int rc;

	if (!m)
		return err_nomem(e);
	m->r = r;
	m->inventory = ret_survey;
	rc = move_job(m, e);
	*ret = m->done;
	if (m->is_stuck) {
		abandoned = m;
		return rc;
	}
	copy_close(m->copy);
	rows_fini(&m->pids);
	rows_fini(&m->starts);
	scan_cache_fini(&m->cache);
	free(m);
	return rc;
}
