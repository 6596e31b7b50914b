/* SPDX-License-Identifier: MIT */
#include "relocate/relocate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rows.h"
#include "inject/freeze.h"
#include "relocate/copy/copy_thread.h"
#include "relocate/copy/leftovers.h"
#include "relocate/pause.h"
#include "relocate/protect.h"
#include "relocate/repoint/repoint.h"
#include "target/proc.h"

#define SHORT_PASS_NS INT64_C(50000000) /* a shorter pass may as well run in the pause */
#define SHORT_PASS_BYTES (8 << 20) /* written; comparing as much takes as long in the next pass */
#define MAX_PASSES 12              /* before the pause */
#define STOP_LIMIT_NS (10 * NS_PER_S) /* to freeze all threads */
#define MAX_TRIES 20                  /* pauses that ended at a temporary obstacle */
#define MAX_RETRACKS 3                /* restarts of dirty tracking before a pause */
#define MAX_SHORTER 5                 /* passes that may bring the pause below its limit */
#define TRY_AGAIN_NS INT64_C(30000000)

/* A move in progress. */
struct move {
	const struct relocation *r;
	struct rows pids;                  /* pid_t: the job at the last scan */
	struct reloc_inventory *inventory; /* the newest */
	struct scan_cache cache;
	struct relocate_done done;
	struct copy *copy;
	struct freeze *freeze;
	struct repoint *repoint;
	struct pause_costs costs;
	int64_t until_ns; /* the end of the pause, as clock_mono_ns(), if it is not committed */
	bool is_committed;
	bool is_stuck; /* a thread hangs in storage and uses copy */
	bool is_quiet; /* no inotify descriptor of inventory had events before the freeze */
};

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
	return scan_take(&opts, ret, e);
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
	m->pids.count = 0;
	for (size_t i = 0; i < m->inventory->proc_count; i++) {
		pid_t *row = rows_add(&m->pids, sizeof *row);

		if (!row)
			return err_nomem(e);
		*row = m->inventory->procs[i].pid;
	}
	return 0;
}

/* Drops the processes that have ended. */
static int prune_pids(struct move *m, struct err *e)
{
	pid_t *all = m->pids.data;
	size_t count = 0;

	for (size_t i = 0; i < m->pids.count; i++) {
		struct proc_stat stat;

		if (proc_stat_read(&stat, all[i]) && !strchr("ZX", stat.state))
			all[count++] = all[i];
	}
	m->pids.count = count;
	return count ? 0 : err_set(e, -ESRCH, "the job has ended");
}

static int scan_job(struct move *m, bool is_frozen, struct err *e)
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
		if (prune_pids(m, e) < 0)
			return e->code;
		opts.pids = m->pids.data;
		opts.pid_count = m->pids.count;
		opts.is_found = true;
	}
	if (scan_take(&opts, &s, e) < 0)
		return e->code;
	reloc_inventory_fini(m->inventory);
	*m->inventory = s;
	return keep_pids(m, e) < 0 ? e->code : relocate_check(m->r, m->inventory, e);
}

static bool is_interrupted(const struct relocation *r)
{
	return r->copy.stop && *r->copy.stop;
}

static int precopy_pass(struct move *m, enum copy_kind kind, struct copy_pass *ret, struct err *e)
{
	if (scan_job(m, false, e) < 0 || copy_pass_run(m->copy, m->inventory, kind, ret, e) < 0)
		return e->code;
	m->done.passes++;
	m->done.copied_bytes += ret->written_bytes;
	log_msg(LOG_INFO, "relocate",
		"pass %u: %" PRIu64 " changed, %" PRIu64 " bytes read, %" PRIu64
		" written, %.1f ms",
		m->done.passes, ret->changed, ret->read_bytes, ret->written_bytes,
		(double)ret->took_ns / 1e6);
	return 0;
}

/* Starts dirty tracking, then copies once more what was written before that. */
static int start_tracking(struct move *m, struct err *e)
{
	struct copy_pass pass;
	int64_t began_ns;

	copy_track_dirty(m->copy, m->inventory);
	if (precopy_pass(m, COPY_PRECOPY, &pass, e) < 0)
		return e->code;
	began_ns = clock_mono_ns();
	if (copy_flush(m->copy, e) < 0)
		return e->code;
	m->costs.walk_ns = pass.took_ns;
	m->costs.flush_ns = clock_mono_ns() - began_ns;
	m->done.expected_ns = pause_expected_ns(&m->costs, m->inventory);
	return 0;
}

static int measure_pause(struct move *m, struct err *e)
{
	struct err why = { 0 };

	m->costs = pause_typical_costs;
	if (pause_measure(m->inventory, &m->costs, &why) == 0)
		return 0;
	if (why.code == -EBUSY)
		return err_set(e, why.code, "%s", why.msg);
	log_msg(LOG_INFO, "relocate", "the cost of a call is not measured: %s", why.msg);
	return 0;
}

/* Repeats the pass while that makes the expected pause shorter, until it is short enough. */
static int shorten_pause(struct move *m, struct err *e)
{
	int64_t limit_ns = m->r->max_pause_ns, before_ns = INT64_MAX;

	for (int i = 0; i < MAX_SHORTER && m->done.expected_ns > limit_ns &&
			m->done.expected_ns < before_ns - before_ns / 8;
	     i++) {
		before_ns = m->done.expected_ns;
		if (start_tracking(m, e) < 0)
			return e->code;
	}
	if (m->done.expected_ns <= limit_ns)
		return 0;
	return err_set(e, -ETIME,
		       "the pause would take about %" PRId64 " ms, longer than --max-pause %" PRId64
		       ": copying what the job has changed meanwhile takes %" PRId64
		       " ms, scanning it %" PRId64 " ms",
		       m->done.expected_ns / 1000000, limit_ns / 1000000,
		       (m->costs.walk_ns + m->costs.flush_ns) / 1000000,
		       m->inventory->took_ns / 1000000);
}

/* Repeats passes until one finds little or is no shorter than the one before. */
static int precopy(struct move *m, struct err *e)
{
	struct copy_pass pass = { .took_ns = INT64_MAX / 2 };
	int64_t began_ns = clock_mono_ns(), before_ns;

	do {
		before_ns = pass.took_ns;
		if (precopy_pass(m, COPY_PRECOPY, &pass, e) < 0)
			return e->code;
	} while (pass.took_ns > SHORT_PASS_NS && pass.written_bytes > SHORT_PASS_BYTES &&
		 m->done.passes < MAX_PASSES && pass.took_ns < before_ns - before_ns / 8);
	if (m->r->is_checked && precopy_pass(m, COPY_VERIFY, &pass, e) < 0)
		return e->code;
	/* Data that is flushed here is not flushed in the pause. */
	if (copy_sync(m->copy, e) < 0)
		return e->code;
	if (repoint_grow_fd_tables(m->inventory, e) < 0 || measure_pause(m, e) < 0)
		return e->code;
	if (start_tracking(m, e) < 0 || shorten_pause(m, e) < 0)
		return e->code;
	m->done.precopy_ns = clock_mono_ns() - began_ns;
	return is_interrupted(m->r) ? err_set(e, -EINTR, "interrupted") : 0;
}

static int repoint_and_verify(struct move *m, struct err *e)
{
	const struct relocation *r = m->r;
	int64_t began_ns = clock_mono_ns();

	if (repoint_begin(&m->repoint, m->freeze, m->inventory, r->old_dir, r->new_dir, e) < 0 ||
	    repoint_verify(m->repoint, e) < 0)
		return e->code;
	m->done.repoint_ns = clock_mono_ns() - began_ns;
	return 0;
}

/* Past the end of the pause? Then it is undone. */
static int check_pause(const struct move *m, struct err *e)
{
	return clock_mono_ns() < m->until_ns ? 0 : err_set(e, -ETIME, "the pause is over");
}

/* Waits for a thread of the copy until the end of the pause. rc: the result of the work beside it,
 * whose error is the first. */
static int join_copy(struct move *m, struct copy_thread *thread, int rc, struct err *e)
{
	struct err why = { 0 };

	if (copy_thread_join(thread, m->until_ns, &m->is_stuck, &why) == 0)
		return rc;
	return rc < 0 ? rc : err_set(e, why.code, "%s", why.msg);
}

static int walk(void *self, struct err *e)
{
	struct move *m = self;

	return copy_final_walk(m->copy, e);
}

static int copy_rest(void *self, struct err *e)
{
	struct move *m = self;

	if (copy_final_end(m->copy, m->inventory, &m->done.final, e) < 0)
		return e->code;
	return copy_finish(m->copy, m->inventory, e);
}

static int flush(void *self, struct err *e)
{
	struct move *m = self;

	return copy_flush(m->copy, e);
}

/* Copies the rest, repoints and verifies; everything can be undone. The flush runs here, so that
 * failing storage is found while an undo is possible. */
static int repoint_job(struct move *m, struct err *e)
{
	int64_t at_ns = clock_mono_ns();
	struct copy_thread *beside;
	int rc = join_copy(m, copy_thread_start(copy_rest, m), 0, e);

	if (rc < 0 || check_pause(m, e) < 0)
		return e->code;
	m->done.copied_bytes += m->done.final.written_bytes;
	m->done.copy_ns += clock_mono_ns() - at_ns;
	beside = copy_thread_start(flush, m);
	rc = repoint_and_verify(m, e);
	at_ns = clock_mono_ns();
	rc = join_copy(m, beside, rc, e);
	if (rc == 0)
		rc = copy_set_late_flags(m->copy, e);
	m->done.flush_ns = clock_mono_ns() - at_ns;
	return rc < 0 ? rc : check_pause(m, e);
}

static void log_cause(const struct err *why)
{
	log_msg(LOG_WARN, "relocate", "%s", why->msg);
}

/* From here on the job is on NEW, whatever fails. */
static void commit(struct move *m)
{
	struct err why = { 0 };

	m->is_committed = true;
	if (repoint_commit(m->repoint, &why) < 0)
		log_cause(&why);
	m->repoint = NULL;
	if (copy_commit(m->copy, &why) < 0)
		log_cause(&why);
	if (repoint_drain_inotify(m->inventory, &why) < 0)
		log_cause(&why);
}

/* Our own descriptor would keep OLD busy. */
static void close_old(const struct relocation *r)
{
	if (r->old_dir->fd >= 0)
		close(r->old_dir->fd);
	r->old_dir->fd = -1;
}

static void swap_dirs(struct move *m)
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

/* Scans processes outside the job before the freeze; the pause rescans only those that have run
 * since. */
static int scan_outside(struct move *m, struct err *e)
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

/* Walks the tree in a second thread during the scan: both take most of the time. */
static int scan_and_walk(struct move *m, struct err *e)
{
	struct copy_thread *beside;
	int64_t at_ns;
	int rc;

	m->is_quiet = !scan_has_unread_events(m->inventory);
	beside = copy_thread_start(walk, m);
	rc = scan_job(m, true, e);
	at_ns = clock_mono_ns();
	m->done.scan_ns = at_ns - freeze_since_ns(m->freeze) - m->done.freeze_ns;
	rc = join_copy(m, beside, rc, e);
	m->done.copy_ns = clock_mono_ns() - at_ns;
	return rc;
}

/* -EAGAIN: there was a temporary obstacle, and the job runs again. */
static int freeze_and_repoint(struct move *m, struct err *e)
{
	const struct relocation *r = m->r;
	int64_t since_ns;

	if (prune_pids(m, e) < 0 || scan_outside(m, e) < 0 ||
	    freeze_begin(&m->freeze, m->pids.data, m->pids.count, r->is_only, STOP_LIMIT_NS, e) < 0)
		return e->code;
	since_ns = freeze_since_ns(m->freeze);
	m->until_ns = since_ns + r->max_pause_ns;
	copy_set_deadline(m->copy, m->until_ns);
	m->done.freeze_ns = clock_mono_ns() - since_ns;
	if (scan_and_walk(m, e) < 0) {
		freeze_thaw(m->freeze);
		m->freeze = NULL;
		if (!m->is_stuck)
			copy_set_deadline(m->copy, 0);
		return e->code == -EBUSY ? -EAGAIN : e->code;
	}
	if (repoint_job(m, e) == 0) {
		commit(m);
		if (r->swaps)
			swap_dirs(m);
	} else if (m->repoint) {
		struct err why = { 0 };

		if (repoint_undo(m->repoint, &why) < 0)
			log_cause(&why);
		m->repoint = NULL;
	}
	m->done.pause_ns = freeze_thaw(m->freeze) - since_ns;
	m->freeze = NULL;
	if (!m->is_stuck)
		copy_set_deadline(m->copy, 0);
	return m->is_committed ? 0 : e->code;
}

/* One pause. It does not begin while stale dirty tracking would make it long. */
static int pause_job(struct move *m, struct err *e)
{
	sigset_t before;
	int rc;

	for (int i = 0; i < MAX_RETRACKS && copy_tracking_is_stale(m->copy); i++)
		if (start_tracking(m, e) < 0)
			return e->code == -EBUSY ? -EAGAIN : e->code;
	protect_block_signals(&before);
	rc = freeze_and_repoint(m, e);
	protect_unblock_signals(&before);
	return rc;
}

/* The most descriptors that we open in the pause: for threads, files and mappings. */
static unsigned count_descriptors(const struct reloc_inventory *s)
{
	size_t count = 4096 + s->desc_count + s->fd_count + s->map_count + s->dir_count;

	return count < INT_MAX / 2 ? (unsigned)count : INT_MAX / 2;
}

/* Retries: a half-read directory, for example, is soon read to its end. */
static int pause_until_moved(struct move *m, struct err *e)
{
	const struct timespec again = { 0, TRY_AGAIN_NS };
	int rc;

	protect_begin(count_descriptors(m->inventory));
	for (int tries = 0; (rc = pause_job(m, e)) == -EAGAIN; tries++) {
		if (tries == MAX_TRIES || is_interrupted(m->r))
			break;
		nanosleep(&again, NULL);
		memset(e, 0, sizeof *e);
	}
	protect_end();
	return rc < 0 ? e->code : 0;
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
	    prune_pids(m, &why) < 0)
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
		swap_dirs(m);
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
		log_cause(&why);
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
	if (scan_job(m, false, e) < 0 ||
	    copy_open(&m->copy, m->r->old_dir, m->r->new_dir, m->inventory, &m->r->copy, e) < 0)
		return e->code;
	if (precopy(m, e) < 0 || pause_until_moved(m, e) < 0)
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
	scan_cache_fini(&m->cache);
	free(m);
	return rc;
}
