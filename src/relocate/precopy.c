/* SPDX-License-Identifier: MIT */
#include "relocate/move.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"

#define SHORT_PASS_NS INT64_C(50000000) /* a shorter pass may as well run in the pause */
#define SHORT_PASS_BYTES (8 << 20) /* written; comparing as much takes as long in the next pass */
#define MAX_PASSES 12              /* before the pause */
#define MAX_SHORTER 5              /* passes that may bring the pause below its limit */

static int precopy_pass(struct move *m, enum copy_kind kind, struct copy_pass *ret, struct err *e)
{
	if (move_scan_job(m, false, e) < 0 ||
	    copy_pass_run(m->copy, m->inventory, kind, ret, e) < 0)
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

int move_track(struct move *m, struct err *e)
{
	struct copy_pass pass;
	int64_t began_ns;

	copy_track_dirty(m->copy, m->inventory);
	if (precopy_pass(m, COPY_PRECOPY, &pass, e) < 0)
		return e->code;
	began_ns = clock_mono_ns();
	if (copy_flush(m->copy, e) < 0)
		return e->code;
	m->costs.walk_ns = copy_is_watched(m->copy) ? pass.fill_ns : pass.took_ns;
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
		if (move_track(m, e) < 0)
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
		       m->inventory->cost_ns / 1000000);
}

/* Repeats passes until one finds little or is no shorter than the one before. */
int move_precopy(struct move *m, struct err *e)
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
	if (move_track(m, e) < 0 || shorten_pause(m, e) < 0)
		return e->code;
	m->done.precopy_ns = clock_mono_ns() - began_ns;
	return move_is_interrupted(m) ? err_set(e, -EINTR, "interrupted") : 0;
}
