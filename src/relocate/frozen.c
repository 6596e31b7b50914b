/* SPDX-License-Identifier: MIT */
#include "relocate/move.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "relocate/copy/copy_thread.h"
#include "relocate/protect.h"

#define STOP_LIMIT_NS (10 * NS_PER_S) /* to freeze all threads */
#define MAX_TRIES 20                  /* pauses that ended at a temporary obstacle */
#define MAX_RETRACKS 3                /* restarts of dirty tracking before a pause */
#define TRY_AGAIN_NS INT64_C(30000000)

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

	return m->r->is_dead ? 0 : copy_final_walk(m->copy, e);
}

static int copy_rest(void *self, struct err *e)
{
	struct move *m = self;

	if (m->r->is_dead) {
		if (copy_cached(m->copy, m->inventory, &m->done.final, e) < 0)
			return e->code;
		return copy_finish_cached(m->copy, m->inventory, e);
	}
	if (copy_final_end(m->copy, m->inventory, &m->done.final, e) < 0)
		return e->code;
	return copy_finish(m->copy, m->inventory, e);
}

static int flush(void *self, struct err *e)
{
	struct move *m = self;

	return m->r->is_dead ? 0 : copy_flush(m->copy, e);
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

static void free_repoint(struct move *m)
{
	repoint_free(m->repoint);
	m->repoint = NULL;
}

/* From here on the job is on NEW, whatever fails. */
static void commit(struct move *m)
{
	struct err why = { 0 };

	m->is_committed = true;
	if (repoint_commit(m->repoint, &why) < 0)
		move_log_cause(&why);
	if (m->r->swaps) /* its descriptors would keep OLD busy */
		free_repoint(m);
	/* The journal knows of the move until the directories are swapped, too. */
	if (m->r->swaps)
		move_swap_dirs(m);
	if (copy_commit(m->copy, &why) < 0)
		move_log_cause(&why);
	if (repoint_drain_inotify(m->inventory, &why) < 0)
		move_log_cause(&why);
}

/* Walks the tree in a second thread during the scan: both take most of the time. */
static int scan_and_walk(struct move *m, struct err *e)
{
	struct copy_thread *beside;
	int64_t at_ns;
	int rc;

	m->is_quiet = !scan_has_unread_events(m->inventory);
	beside = copy_thread_start(walk, m);
	rc = m->r->is_dead ? move_scan_dead(m, true, m->until_ns, e) : move_scan_job(m, true, e);
	at_ns = clock_mono_ns();
	m->done.scan_ns = at_ns - freeze_since_ns(m->freeze) - m->done.freeze_ns;
	if (!m->is_stuck)
		rc = join_copy(m, beside, rc, e);
	m->done.copy_ns = clock_mono_ns() - at_ns;
	return rc;
}

static int freeze(struct move *m, struct err *e)
{
	const struct relocation *r = m->r;
	const struct freeze_hung *hung;
	size_t count;

	if (!r->is_dead)
		return freeze_begin(&m->freeze, m->pids.data, m->pids.count, r->is_only,
				    STOP_LIMIT_NS, e);
	if (freeze_begin_around_hung(&m->freeze, m->pids.data, m->pids.count, r->is_only,
				     STOP_LIMIT_NS, e) < 0)
		return e->code;
	hung = freeze_hung(m->freeze, &count);
	for (size_t i = 0; i < count; i++) {
		struct freeze_hung *row = rows_add(&m->hung, sizeof *row);

		if (row)
			*row = hung[i];
	}
	return 0;
}

/* -EAGAIN: there was a temporary obstacle, and the job runs again. */
static int freeze_and_repoint(struct move *m, struct err *e)
{
	const struct relocation *r = m->r;
	int64_t since_ns;

	if ((!r->is_dead && move_scan_outside(m, e) < 0) || move_prune_pids(m, e) < 0 ||
	    freeze(m, e) < 0)
		return e->code;
	since_ns = freeze_since_ns(m->freeze);
	m->until_ns = since_ns + r->max_pause_ns;
	copy_set_deadline(m->copy, m->until_ns);
	m->done.freeze_ns = clock_mono_ns() - since_ns;
	if (move_check_pids(m, e) < 0 || scan_and_walk(m, e) < 0) {
		freeze_thaw(m->freeze);
		m->freeze = NULL;
		if (!m->is_stuck)
			copy_set_deadline(m->copy, 0);
		return e->code == -EBUSY && !r->is_dead ? -EAGAIN : e->code;
	}
	if (repoint_job(m, e) == 0) {
		commit(m);
	} else if (m->repoint) {
		struct err why = { 0 };

		if (repoint_undo(m->repoint, &why) < 0)
			move_log_cause(&why);
		m->repoint = NULL;
	}
	m->done.pause_ns = freeze_thaw(m->freeze) - since_ns;
	free_repoint(m);
	m->freeze = NULL;
	if (m->is_committed)
		copy_end_watch(m->copy);
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
		if (move_track(m, e) < 0)
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

int move_frozen(struct move *m, struct err *e)
{
	const struct timespec again = { 0, TRY_AGAIN_NS };
	int rc;

	protect_begin(count_descriptors(m->inventory));
	for (int tries = 0; (rc = pause_job(m, e)) == -EAGAIN; tries++) {
		if (tries == MAX_TRIES || move_is_interrupted(m))
			break;
		nanosleep(&again, NULL);
		memset(e, 0, sizeof *e);
	}
	protect_end();
	return rc < 0 ? e->code : 0;
}
