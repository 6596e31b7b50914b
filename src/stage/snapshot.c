/* SPDX-License-Identifier: MIT */
#include "stage/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stage/context.h"
#include "stage/thread.h"
#include "stage/ticks.h"

#define TRIES 100

/* A snapshot in the making, with what it reads from. */
struct reader {
	struct snapshot *s;
	struct auger_profiler *p;
	const struct shard *own; /* shard shard of the calling thread; may be NULL */
	struct reading now;      /* with the costs of the calling thread */
	struct frame *frames;    /* [max_depth]: copies, innermost first */
};

static struct row *row_of(struct snapshot *s, struct row **rows, uint32_t path)
{
	if (!rows[path])
		rows[path] = arena_alloc(&s->arena, sizeof *rows[path]);
	return rows[path];
}

static void copy_words(void *to, const void *from, size_t size)
{
	typedef uint64_t __attribute__((may_alias)) word;
	word *words = to;
	const word *source = from;

	for (size_t i = 0; i < size / sizeof *words; i++)
		words[i] = LOAD_ACQUIRE(source[i]);
}

_Static_assert(sizeof(struct frame) % sizeof(uint64_t) == 0, "whole words");

/* Copies the open stages of a context to r->frames; returns their count. */
static uint32_t copy_frames(struct reader *r, const struct auger_context *c)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t change = LOAD_ACQUIRE(c->change);
		const struct frame *f = LOAD_ACQUIRE(c->top);
		uint32_t count = 0;

		while (f && count < r->p->opts.max_depth) {
			struct frame *copy = &r->frames[count++];

			copy_words(copy, f, sizeof *copy);
			f = copy->below;
		}
		if (!(change & 1) && LOAD_ACQUIRE(c->change) == change)
			return count;
	}
	return 0;
}

static void add_to_outer(const struct reader *r, struct frame *outer, const struct call *call)
{
	uint32_t groups = r->p->groups;

	frame_add_inner(outer, call);
	if ((groups & GROUP_PROCESS) && call->rss_peak.value > outer->rss_seen)
		outer->rss_seen = call->rss_peak.value;
}

/* From the innermost out: its cost so far is part of the stage around it. */
static int add_open(struct reader *r, const struct auger_context *c, struct row **rows)
{
	uint32_t count = copy_frames(r, c);
	struct call call;

	for (uint32_t i = 0; i < count; i++)
		context_reset_frame(r->p, &r->frames[i]);
	for (uint32_t i = 0; i < count; i++) {
		struct frame *f = &r->frames[i];
		struct row *row;

		if (f->flags & FRAME_INHERITED)
			continue;
		context_open_call(r->p, f, &r->now, r->own, &call);
		row = row_of(r->s, rows, f->path);
		if (!row)
			return -ENOMEM;
		row_add_call(row, &call, r->p->groups);
		row->open++;
		if (i + 1 == count)
			break;
		add_to_outer(r, &r->frames[i + 1], &call);
	}
	return 0;
}

/* Copies the rows with calls, each consistent in itself unless its thread changes it TRIES times.
 */
static int copy_rows(struct reader *r, const struct shard *shard, struct row **rows)
{
	for (uint32_t i = 1; i <= r->s->path_count; i++) {
		const struct row *from = LOAD_ACQUIRE(shard->rows[i]);
		uint32_t change;
		int tries = 0;

		if (!from || (!LOAD_ACQUIRE(from->calls) && !LOAD_ACQUIRE(from->errors)))
			continue;
		if (!row_of(r->s, rows, i))
			return -ENOMEM;
		do {
			change = LOAD_ACQUIRE(shard->context.change);
			row_copy(rows[i], from);
		} while (((change & 1) || LOAD_ACQUIRE(shard->context.change) != change) &&
			 ++tries < TRIES);
		rows[i]->open = 0;
	}
	return 0;
}

static int sum_up(struct snapshot *s, struct row **rows)
{
	for (uint32_t i = 1; i <= s->path_count; i++) {
		struct row *sum;

		if (!rows[i] || (!rows[i]->calls && !rows[i]->errors))
			continue;
		sum = row_of(s, s->rows, i);
		if (!sum)
			return -ENOMEM;
		row_add(sum, rows[i]);
		sum->threads += rows[i]->calls > 0;
	}
	return 0;
}

static void clear(const struct snapshot *s, struct row **rows)
{
	for (uint32_t i = 1; i <= s->path_count; i++) {
		if (rows[i])
			memset(rows[i], 0, sizeof *rows[i]);
	}
}

/* Copies rows and open stages of one moment when the thread is idle long enough. A thread that
 * begins and ends stages all the time is copied row by row: later rows include more calls. */
static int copy_shard(struct reader *r, const struct shard *shard, struct row **rows)
{
	uint32_t change;
	int tries = 0;

	do {
		int status = 0;

		clear(r->s, rows);
		change = LOAD_ACQUIRE(shard->context.change);
		if (LOAD_ACQUIRE(shard->epoch) == r->p->epoch)
			status = copy_rows(r, shard, rows);
		if (status == 0)
			status = add_open(r, &shard->context, rows);
		if (status < 0)
			return status;
	} while (LOAD_ACQUIRE(shard->context.change) != change && ++tries < 10);
	return 0;
}

/* Copies the rows of a shard, then adds them to the sum. */
static int add_shard(struct reader *r, struct shard *shard, struct row **rows)
{
	int status = copy_shard(r, shard, rows);

	return status < 0 ? status : sum_up(r->s, rows);
}

static struct row **new_rows(struct snapshot *s)
{
	return arena_alloc(&s->arena, (s->path_count + 1) * sizeof(struct row *));
}

static bool is_empty(const struct snapshot *s, struct row *const *rows)
{
	for (uint32_t i = 1; i <= s->path_count; i++) {
		if (rows[i] && (rows[i]->calls || rows[i]->errors))
			return false;
	}
	return true;
}

/* Without per_thread, one set of rows serves all threads in turn. */
static int add_shards(struct reader *r)
{
	struct snapshot *s = r->s;
	struct row **rows = NULL;

	for (struct shard *shard = r->p->shards; shard; shard = shard->next) {
		int status;

		if (!rows || r->p->opts.per_thread)
			rows = new_rows(s);
		if (!rows)
			return -ENOMEM;
		status = add_shard(r, shard, rows);
		if (status < 0)
			return status;
		if (s->threads && !is_empty(s, rows))
			s->threads[s->thread_count++] =
				(struct snapshot_thread){ shard->tid, rows };
	}
	return 0;
}

static int add_ended(struct reader *r)
{
	struct snapshot *s = r->s;

	for (uint32_t i = 1; i <= s->path_count; i++) {
		const struct row *from = r->p->retired[i];
		struct row *row;

		if (!from || (!from->calls && !from->errors))
			continue;
		row = row_of(s, s->rows, i);
		if (!row)
			return -ENOMEM;
		row_add(row, from);
		row->threads += from->threads;
	}
	return 0;
}

static int add_tasks(struct reader *r)
{
	for (struct auger_context *c = r->p->tasks; c; c = c->next) {
		int status = add_open(r, c, r->s->rows);

		if (status < 0)
			return status;
	}
	return 0;
}

static int make_tables(struct reader *r)
{
	struct snapshot *s = r->s;
	uint32_t shard_count = 0;

	for (struct shard *shard = r->p->shards; shard; shard = shard->next)
		shard_count++;
	s->path_count = r->p->paths.count;
	s->paths = r->p->paths.list;
	s->rows = new_rows(s);
	s->order = arena_alloc(&s->arena, (s->path_count + 1) * sizeof s->order[0]);
	r->frames = arena_alloc(&s->arena, r->p->opts.max_depth * sizeof r->frames[0]);
	if (r->p->opts.per_thread)
		s->threads = arena_alloc(&s->arena, shard_count * sizeof s->threads[0]);
	return s->rows && s->order && r->frames && (s->threads || !r->p->opts.per_thread) ? 0
											  : -ENOMEM;
}

int snapshot_take(struct snapshot *s, struct auger_profiler *p)
{
	struct reader r = { .s = s, .p = p };
	const struct thread *t = thread_self;
	struct shard *own = NULL;

	memset(s, 0, sizeof *s);
	if (t && t->slots[p->slot].serial == p->serial)
		own = t->slots[p->slot].shard;
	r.own = own;
	context_read_now(p, own, &r.now);
	s->now = r.now;
	s->reset = p->reset;
	s->tick_ns = ticks_ns();
	s->rss_kb = counters_rss_kb(&p->files);
	if (make_tables(&r) < 0 || add_shards(&r) < 0 || add_ended(&r) < 0 || add_tasks(&r) < 0)
		return -ENOMEM;
	s->row_count = snapshot_sort(s, s->rows, s->order);
	return 0;
}

void snapshot_fini(struct snapshot *s)
{
	struct arena arena = s->arena; /* which may own s itself */

	arena_fini(&arena);
	s->arena = arena;
}

static bool is_before(struct row *const *rows, uint32_t a, uint32_t b)
{
	return rows[a]->first != rows[b]->first ? rows[a]->first < rows[b]->first : a < b;
}

/* Insertion sort: path numbers follow first begins, so they are nearly in order. */
uint32_t snapshot_sort(const struct snapshot *s, struct row *const *rows, uint32_t *order)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i <= s->path_count; i++) {
		uint32_t at = count;

		if (!rows[i] || (!rows[i]->calls && !rows[i]->errors))
			continue;
		for (; at > 0 && is_before(rows, i, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = i;
		count++;
	}
	return count;
}

int64_t snapshot_ns(const struct snapshot *s, int64_t ticks)
{
	return (int64_t)((double)ticks * s->tick_ns);
}

static int64_t known_wall_ns(const struct snapshot *s, const int64_t *costs)
{
	return snapshot_ns(s, costs[COST_WALL] - costs[COST_MIGRATED]);
}

/* Two clocks are read, so the difference of a call that only waited, or never waited, may be out of
 * range. */
int64_t snapshot_wait_ns(const struct snapshot *s, const int64_t *costs)
{
	int64_t wall_ns = known_wall_ns(s, costs);
	int64_t wait_ns = snapshot_ns(s, costs[COST_WAIT_TICKS]) - costs[COST_WAIT_NS];

	if (wait_ns > wall_ns)
		wait_ns = wall_ns;
	return wait_ns > 0 ? wait_ns : 0;
}

int64_t snapshot_cpu_ns(const struct snapshot *s, const int64_t *costs)
{
	return known_wall_ns(s, costs) - snapshot_wait_ns(s, costs);
}
