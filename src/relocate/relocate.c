/* SPDX-License-Identifier: MIT */
#include "relocate/relocate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rows.h"
#include "inject/hold.h"
#include "relocate/copy/beside.h"
#include "relocate/copy/left.h"
#include "relocate/copy/urgent.h"
#include "relocate/repoint/shift.h"
#include "target/proc.h"

#define SHORT_PASS_NS INT64_C(50000000) /* a pass that may as well be made in the pause */
#define SHORT_PASS_BYTES (8 << 20)      /* written; comparing takes as long the next time */
#define MAX_PASSES 12                   /* while the job runs */
#define STOP_LIMIT_NS (10 * NS_PER_S)   /* until all threads stand still */
#define MAX_TRIES 20                    /* pauses that found the job at something passing */
#define MAX_WATCHES 3                   /* begun anew before a pause */
#define TRY_AGAIN_NS INT64_C(30000000)

/* A move on its way. */
struct move {
	const struct relocation *r;
	struct rows pids;      /* pid_t: the job as it was last seen */
	struct survey *survey; /* the newest */
	struct idle idle;
	struct relocate_done done;
	struct copy *copy;
	struct hold *hold;
	struct shift *shift;
	bool is_committed;
	bool is_quiet; /* nothing of what survey watches had events when the job stopped */
};

static void fill_ask(const struct relocation *r, struct survey_ask *ask)
{
	*ask = (struct survey_ask){
		.pids = r->pids,
		.pid_count = r->pid_count,
		.old_place = r->old_place,
		.new_place = r->new_place,
		.is_only = r->is_only,
		.is_found = r->is_found,
		.moves_libs = r->moves_libs,
	};
}

int relocate_look(const struct relocation *r, struct survey *ret, struct err *e)
{
	struct survey_ask ask;

	fill_ask(r, &ask);
	return survey_take(&ask, ret, e);
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

/* What is mounted here is not mounted there: the job would go on with OLD by its paths. */
static int check_swap(const struct relocation *r, const struct survey *s, struct err *e)
{
	for (size_t i = 0; i < s->proc_count; i++)
		if (s->procs[i].new_path)
			return err_set(
				e, -EBUSY,
				"process %d (%s) has mounts of its own, where --swap cannot show "
				"%s at the path of OLD (leave --swap away)",
				(int)s->procs[i].pid, s->procs[i].comm, r->new_place->path);
	return 0;
}

int relocate_check(const struct relocation *r, const struct survey *s, struct err *e)
{
	enum reloc_obstacle_kind least = r->is_partial ? RELOC_PREVENTS : RELOC_LEAVES;

	for (size_t i = 0; i < s->obstacle_count; i++)
		if (s->obstacles[i].kind == RELOC_PREVENTS)
			return refuse(&s->obstacles[i], e);
	for (size_t i = 0; i < s->obstacle_count; i++)
		if (s->obstacles[i].kind >= least)
			return refuse(&s->obstacles[i], e);
	if (r->swaps && check_swap(r, s, e) < 0)
		return e->code;
	if (!s->fd_count && !s->map_count && !s->dir_count && !s->watch_count)
		return err_set(e, -ESRCH, "the job has nothing of %s", r->old_place->path);
	return 0;
}

/* Who was of the job stays of it, though its parent may end. */
static int keep_pids(struct move *m, struct err *e)
{
	m->pids.count = 0;
	for (size_t i = 0; i < m->survey->proc_count; i++) {
		pid_t *row = rows_add(&m->pids, sizeof *row);

		if (!row)
			return err_nomem(e);
		*row = m->survey->procs[i].pid;
	}
	return 0;
}

/* Those that ended meanwhile are left out. */
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

static int look_again(struct move *m, bool is_stopped, struct err *e)
{
	struct survey s = { 0 };
	struct survey_ask ask;

	fill_ask(m->r, &ask);
	ask.idle = &m->idle;
	ask.is_stopped = is_stopped;
	if (is_stopped) {
		ask.pids = hold_pids(m->hold, &ask.pid_count);
		ask.quiet = m->is_quiet ? m->survey : NULL;
	} else if (m->pids.count) {
		if (prune_pids(m, e) < 0)
			return e->code;
		ask.pids = m->pids.data;
		ask.pid_count = m->pids.count;
		ask.is_found = true;
	}
	if (survey_take(&ask, &s, e) < 0)
		return e->code;
	survey_fini(m->survey);
	*m->survey = s;
	return keep_pids(m, e) < 0 ? e->code : relocate_check(m->r, m->survey, e);
}

static bool is_told_to_stop(const struct relocation *r)
{
	return r->copy.stop && *r->copy.stop;
}

static int pass_ahead(struct move *m, enum copy_kind kind, struct copy_pass *ret, struct err *e)
{
	if (look_again(m, false, e) < 0 || copy_pass_run(m->copy, m->survey, kind, ret, e) < 0)
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

/* From now on the kernel knows what changes. Then once more what was written before. */
static int watch(struct move *m, struct err *e)
{
	struct copy_pass pass;

	copy_watch(m->copy, m->survey);
	return pass_ahead(m, COPY_AHEAD, &pass, e) < 0 ? e->code : copy_flush(m->copy, e);
}

/* Again and again, until a pass finds little or is no shorter than the one before. */
static int copy_ahead(struct move *m, struct err *e)
{
	struct copy_pass pass = { .took_ns = INT64_MAX / 2 };
	int64_t began_ns = clock_mono_ns(), before_ns;

	do {
		before_ns = pass.took_ns;
		if (pass_ahead(m, COPY_AHEAD, &pass, e) < 0)
			return e->code;
	} while (pass.took_ns > SHORT_PASS_NS && pass.written_bytes > SHORT_PASS_BYTES &&
		 m->done.passes < MAX_PASSES && pass.took_ns < before_ns - before_ns / 8);
	if (m->r->is_checked && pass_ahead(m, COPY_VERIFY, &pass, e) < 0)
		return e->code;
	/* What is flushed now need not be after the pause. */
	if (copy_sync(m->copy, e) < 0)
		return e->code;
	if (shift_make_room(m->survey, e) < 0)
		return e->code;
	if (watch(m, e) < 0)
		return e->code;
	m->done.ahead_ns = clock_mono_ns() - began_ns;
	return is_told_to_stop(m->r) ? err_set(e, -EINTR, "interrupted") : 0;
}

static int point_job(struct move *m, struct err *e)
{
	const struct relocation *r = m->r;
	int64_t began_ns = clock_mono_ns();

	if (shift_begin(&m->shift, m->hold, m->survey, r->old_place, r->new_place, e) < 0 ||
	    shift_verify(m->shift, e) < 0)
		return e->code;
	m->done.shift_ns = clock_mono_ns() - began_ns;
	return 0;
}

/* Copies the rest, re-points and verifies; all of it can be undone. Storage that fails is found
 * while there still is a way back. */
static int shift_job(struct move *m, struct err *e)
{
	int64_t at_ns = clock_mono_ns();
	struct beside flush;
	struct err why = { 0 };
	int rc;

	if (copy_last_end(m->copy, m->survey, &m->done.last, e) < 0 ||
	    copy_finish(m->copy, m->survey, e) < 0)
		return e->code;
	m->done.copied_bytes += m->done.last.written_bytes;
	m->done.copy_ns += clock_mono_ns() - at_ns;
	beside_start(&flush, copy_flush, m->copy);
	rc = point_job(m, e);
	at_ns = clock_mono_ns();
	if (beside_end(&flush, &why) < 0 && rc == 0)
		rc = err_set(e, why.code, "%s", why.msg);
	if (rc == 0)
		rc = copy_seal(m->copy, e);
	m->done.flush_ns = clock_mono_ns() - at_ns;
	return rc;
}

static void complain(const struct err *why)
{
	log_msg(LOG_WARN, "relocate", "%s", why->msg);
}

/* From here on the job is on NEW, whatever happens. */
static void commit(struct move *m)
{
	struct err why = { 0 };

	m->is_committed = true;
	if (shift_commit(m->shift, &why) < 0)
		complain(&why);
	m->shift = NULL;
	if (copy_commit(m->copy, &why) < 0)
		complain(&why);
	if (shift_drain_watches(m->survey, &why) < 0)
		complain(&why);
}

/* OLD's own descriptor would keep it busy. */
static void close_old(const struct relocation *r)
{
	if (r->old_place->fd >= 0)
		close(r->old_place->fd);
	r->old_place->fd = -1;
}

static void swap_places(struct move *m)
{
	const struct relocation *r = m->r;
	bool is_gone;

	close_old(r);
	is_gone = r->old_place->is_mount_root && umount2(r->old_place->path, UMOUNT_NOFOLLOW) == 0;
	if (mount(r->new_place->path, r->old_place->path, NULL, MS_BIND, NULL) < 0)
		log_msg(LOG_WARN, "relocate", "%s cannot be shown at %s: %s", r->new_place->path,
			r->old_place->path, strerror(errno));
	else
		m->done.swap = is_gone ? RELOCATE_UNMOUNTED : RELOCATE_COVERED;
}

/* Who is not of the job is looked at now, so that in the pause only those need be who ran since. */
static int look_outside(struct move *m, struct err *e)
{
	struct survey s = { 0 };
	struct survey_ask ask;

	fill_ask(m->r, &ask);
	ask.idle = &m->idle;
	ask.pid_count = 0;
	ask.is_stopped = true;
	if (survey_take(&ask, &s, e) < 0)
		return e->code;
	survey_fini(&s);
	return 0;
}

/* The names and the content meanwhile, as most of the time goes there. */
static int look_and_walk(struct move *m, struct err *e)
{
	struct err why = { 0 };
	struct beside walk;
	int64_t at_ns;
	int rc;

	m->is_quiet = !survey_has_events(m->survey);
	beside_start(&walk, copy_last_walk, m->copy);
	rc = look_again(m, true, e);
	at_ns = clock_mono_ns();
	m->done.look_ns = at_ns - hold_since_ns(m->hold) - m->done.stop_ns;
	if (beside_end(&walk, &why) < 0 && rc == 0)
		rc = err_set(e, why.code, "%s", why.msg);
	m->done.copy_ns = clock_mono_ns() - at_ns;
	return rc;
}

/* -EAGAIN: the job was at something passing, and runs on. */
static int hold_and_shift(struct move *m, struct err *e)
{
	const struct relocation *r = m->r;
	int64_t since_ns;

	if (prune_pids(m, e) < 0 || look_outside(m, e) < 0 ||
	    hold_begin(&m->hold, m->pids.data, m->pids.count, r->is_only, STOP_LIMIT_NS, e) < 0)
		return e->code;
	since_ns = hold_since_ns(m->hold);
	m->done.stop_ns = clock_mono_ns() - since_ns;
	if (look_and_walk(m, e) < 0) {
		hold_end(m->hold);
		m->hold = NULL;
		return e->code == -EBUSY ? -EAGAIN : e->code;
	}
	if (shift_job(m, e) == 0) {
		commit(m);
		if (r->swaps)
			swap_places(m);
	} else if (m->shift) {
		struct err why = { 0 };

		if (shift_undo(m->shift, &why) < 0)
			complain(&why);
		m->shift = NULL;
	}
	m->done.pause_ns = hold_end(m->hold) - since_ns;
	m->hold = NULL;
	return m->is_committed ? 0 : e->code;
}

/* One pause, as hold_and_shift(). Not when it would be known to be long. */
static int pause_job(struct move *m, struct err *e)
{
	sigset_t before;
	int rc;

	for (int i = 0; i < MAX_WATCHES && copy_must_watch(m->copy); i++)
		if (watch(m, e) < 0)
			return e->code == -EBUSY ? -EAGAIN : e->code;
	urgent_block(&before);
	rc = hold_and_shift(m, e);
	urgent_unblock(&before);
	return rc;
}

/* Descriptors of ours in the pause, at most: those of threads, files and mappings. */
static unsigned count_numbers(const struct survey *s)
{
	size_t count = 4096 + s->desc_count + s->fd_count + s->map_count + s->dir_count;

	return count < INT_MAX / 2 ? (unsigned)count : INT_MAX / 2;
}

/* A directory that is read half, say, is read to its end a moment later. */
static int pause_until_moved(struct move *m, struct err *e)
{
	const struct timespec again = { 0, TRY_AGAIN_NS };
	int rc;

	urgent_begin(count_numbers(m->survey));
	for (int tries = 0; (rc = pause_job(m, e)) == -EAGAIN; tries++) {
		if (tries == MAX_TRIES || is_told_to_stop(m->r))
			break;
		nanosleep(&again, NULL);
		memset(e, 0, sizeof *e);
	}
	urgent_end();
	return rc < 0 ? e->code : 0;
}

static enum relocate_umount ask_unmount(const char *path)
{
	if (umount2(path, MNT_EXPIRE) == 0 || errno == EAGAIN)
		return RELOCATE_FREE;
	return errno == EBUSY ? RELOCATE_BUSY : RELOCATE_UNTRIED;
}

/*
 * The kernel's own answer, which does not unmount: with MNT_EXPIRE the first call only marks what
 * is not busy. Any use takes the mark away, so OLD is used before and after.
 */
static void try_unmount(struct move *m)
{
	const struct reloc_place *old = m->r->old_place;
	int fd;

	if (!old->is_mount_root || m->done.swap != RELOCATE_NOT_SWAPPED)
		return;
	close_old(m->r);
	for (int i = 0; i < 2; i++) {
		fd = open(old->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		if (i == 0)
			m->done.umount = ask_unmount(old->path);
	}
}

/* Where NEW is shown at OLD's path nobody finds OLD any more. */
static void look_after(struct move *m)
{
	struct survey_ask ask;
	struct err why = { 0 };

	if (m->done.swap != RELOCATE_NOT_SWAPPED || m->r->old_place->fd < 0 ||
	    prune_pids(m, &why) < 0)
		return;
	fill_ask(m->r, &ask);
	ask.pids = m->pids.data;
	ask.pid_count = m->pids.count;
	ask.is_found = true;
	if (survey_take(&ask, &m->done.after, &why) < 0)
		log_msg(LOG_WARN, "relocate",
			"the job was moved; what it still has of %s is not known: %s",
			m->r->old_place->path, why.msg);
}

/* What was copied is on the storage; what the job wrote since, and the names, may not be. */
static void flush_after(const struct move *m)
{
	struct err why = { 0 };

	if (copy_sync(m->copy, &why) < 0)
		log_msg(LOG_WARN, "relocate",
			"the job was moved, but now its new storage fails: %s", why.msg);
}

/* The job went over when an earlier auger was killed. */
static int end_earlier(struct move *m, struct err *e)
{
	const struct relocation *r = m->r;
	struct survey_ask ask;
	bool has_any;

	if (relocate_look(r, m->survey, e) < 0)
		return e->code;
	has_any = m->survey->fd_count || m->survey->map_count || m->survey->dir_count ||
		  m->survey->watch_count;
	survey_fini(m->survey);
	if (has_any)
		return err_set(e, -EBUSY,
			       "%s has what a move that was killed has brought there, and the job "
			       "has more of %s",
			       r->new_place->path, r->old_place->path);
	fill_ask(r, &ask);
	ask.old_place = r->new_place;
	ask.new_place = NULL;
	if (survey_take(&ask, m->survey, e) < 0 || left_finish(r->old_place, r->new_place, e) < 0)
		return e->code;
	m->done.was_moved = true;
	if (r->swaps)
		swap_places(m);
	try_unmount(m);
	return 0;
}

int relocate_undo(const struct reloc_place *new_place, struct err *e)
{
	enum left left;

	if (left_look(NULL, new_place, &left, e) < 0)
		return e->code;
	if (left == LEFT_NONE)
		return err_set(e, -ENOENT, "%s has nothing of a move that was killed",
			       new_place->path);
	if (left == LEFT_MOVED)
		return err_set(e, -EBUSY,
			       "%s: the job runs there already; the command that was killed, given "
			       "again, ends the move",
			       new_place->path);
	return copy_undo_left(new_place, e);
}

static int move_job(struct move *m, struct err *e)
{
	enum left left;

	if (left_look(m->r->old_place, m->r->new_place, &left, e) < 0)
		return e->code;
	if (left == LEFT_MOVED)
		return end_earlier(m, e);
	if (look_again(m, false, e) < 0 ||
	    copy_open(&m->copy, m->r->old_place, m->r->new_place, m->survey, &m->r->copy, e) < 0)
		return e->code;
	if (copy_ahead(m, e) < 0 || pause_until_moved(m, e) < 0) {
		struct err why = { 0 };

		if (copy_undo(m->copy, &why) < 0)
			complain(&why);
		return e->code;
	}
	look_after(m);
	try_unmount(m);
	flush_after(m);
	return 0;
}

void relocate_done_fini(struct relocate_done *d)
{
	survey_fini(&d->after);
}

int relocate_run(const struct relocation *r, struct survey *ret_survey, struct relocate_done *ret,
		 struct err *e)
{
	struct move m = { .r = r, .survey = ret_survey };
	int rc = move_job(&m, e);

	copy_close(m.copy);
	rows_fini(&m.pids);
	idle_fini(&m.idle);
	*ret = m.done;
	return rc;
}
