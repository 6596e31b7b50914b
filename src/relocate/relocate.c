/* SPDX-License-Identifier: MIT */
#include "relocate/relocate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "relocate/copy/leftovers.h"
#include "relocate/move.h"

#define DEAD_SCAN_NS (30 * NS_PER_S)

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

	if (!old->is_mount_root || m->done.swap != RELOCATE_NOT_SWAPPED || m->r->is_dead)
		return;
	move_close_old(m->r);
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
	struct scan_opts opts = relocation_scan_opts(m->r);
	struct err why = { 0 };

	if (m->done.swap != RELOCATE_NOT_SWAPPED || m->r->old_dir->fd < 0 || m->r->is_dead ||
	    move_prune_pids(m, &why) < 0)
		return;
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
	struct scan_opts opts = relocation_scan_opts(r);
	bool has_any;

	if (relocation_scan(r, m->inventory, e) < 0)
		return e->code;
	has_any = m->inventory->fd_count || m->inventory->map_count || m->inventory->dir_count ||
		  m->inventory->watch_count;
	reloc_inventory_fini(m->inventory);
	if (has_any)
		return err_set(
			e, -EBUSY,
			"%s has the job of a killed move, and the job uses files of %s again",
			r->new_dir->path, r->old_dir->path);
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

/* The same where the killed auger had begun to swap the directories: OLD's path leads to what was
 * below its mount, or to NEW. */
static int finish_swap(struct move *m, struct err *e)
{
	const struct relocation *r = m->r;
	struct scan_opts opts = relocation_scan_opts(r);

	opts.old_dir = r->new_dir;
	opts.new_dir = NULL;
	if (scan_take(&opts, m->inventory, e) < 0 || leftovers_finish_move(NULL, r->new_dir, e) < 0)
		return e->code;
	m->done.was_moved = true;
	if (r->old_dir->ino == r->new_dir->ino && r->old_dir->dev_major == r->new_dir->dev_major &&
	    r->old_dir->dev_minor == r->new_dir->dev_minor)
		m->done.swap = RELOCATE_COVERED;
	else if (r->swaps) {
		r->old_dir->is_mount_root = false; /* what is mounted there is not OLD */
		move_swap_dirs(m);
	}
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

/* OLD hangs: what is in memory is copied once before the pause, to learn what cannot be read. */
static int precopy_cached(struct move *m, struct err *e)
{
	struct copy_pass pass;

	m->costs = pause_typical_costs;
	if (copy_cached(m->copy, m->inventory, &pass, e) < 0)
		return e->code;
	m->costs.walk_ns = m->done.precopy_ns = pass.took_ns;
	m->done.expected_ns = pause_expected_ns(&m->costs, m->inventory);
	m->done.passes = 1;
	m->done.copied_bytes = pass.written_bytes;
	return 0;
}

static int move_from_dead(struct move *m, struct err *e)
{
	if (move_scan_dead(m, false, clock_mono_ns() + DEAD_SCAN_NS, e) < 0)
		return e->code;
	if (copy_open_cached(&m->copy, m->r->old_dir, m->r->new_dir, &m->r->copy, e) < 0)
		return e->code;
	if (precopy_cached(m, e) < 0 || move_frozen(m, e) < 0)
		return undo_copy(m, e);
	m->done.umount = RELOCATE_HANGS;
	flush_after(m);
	return 0;
}

static int move_job(struct move *m, struct err *e)
{
	enum leftovers left;

	if (m->r->is_dead)
		return move_from_dead(m, e);
	if (leftovers_find(m->r->old_dir, m->r->new_dir, &left, e) < 0)
		return e->code;
	if (left == LEFTOVERS_MOVED)
		return finish_earlier_move(m, e);
	if (left == LEFTOVERS_SWAPPED)
		return finish_swap(m, e);
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

int relocate_run(const struct relocation *r, struct reloc_inventory *ret_survey,
		 struct relocate_done *ret, struct err *e)
{
	struct move *m = calloc(1, sizeof *m);
	int rc;

	if (!m)
		return err_nomem(e);
	m->r = r;
	m->inventory = ret_survey;
	if (r->swaps)
		top_dir_clone_mount(r->new_dir);
	rc = move_job(m, e);
	*ret = m->done;
	if (m->is_stuck) {
		abandoned = m;
		return rc;
	}
	copy_close(m->copy);
	rows_fini(&m->pids);
	rows_fini(&m->starts);
	rows_fini(&m->hung);
	scan_cache_fini(&m->cache);
	free(m);
	return rc;
}
