/* SPDX-License-Identifier: MIT */
#include "view/clumps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/rows.h"

#define SLOTS 10      /* at least, of the recording */
#define LEAST_PAIRS 8 /* of neighbouring slots; below, they tell nothing */

/* What a row has in a slot of a thread. */
struct part {
	uint32_t row, thread;
	int64_t slot;
	double value;
};

struct thread_slots {
	int64_t first, last;
};

struct clumps {
	const struct flat *flat;
	const struct sample_times *times;
	bool has_totals;
	int64_t slot_ns;
	struct map numbers;  /* of threads, by their tid */
	struct rows threads; /* struct thread_slots */
	struct rows parts;   /* struct part */
	uint32_t *seen;      /* [row_count]: the last entry that was added to it, + 1 */
};

static uint64_t tid_of(const struct profile *p, uint32_t labels)
{
	size_t count;
	const struct label *all = profile_get_labels(p, labels, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(profile_text(p, all[i].key), "tid") == 0)
			return all[i].str ? UINT64_C(1) << 63 | all[i].str : (uint64_t)all[i].num;
	return 0;
}

static int64_t slot_of(const struct clumps *c, const struct timed_value *v)
{
	return (int64_t)((double)v->bucket * (double)c->times->bucket_ns / (double)c->slot_ns);
}

static bool add_part(struct clumps *c, size_t entry, uint32_t thread, uint32_t frame)
{
	const struct timed_value *v = sample_times_at(c->times, entry);
	uint32_t row = c->flat->row_of[frame];
	struct part *part;

	if (c->seen[row] == entry + 1)
		return true;
	c->seen[row] = (uint32_t)entry + 1;
	part = rows_add(&c->parts, sizeof *part);
	if (part)
		*part = (struct part){ row, thread, slot_of(c, v), (double)v->value };
	return part != NULL;
}

/* To the function it was taken in, or to all of its stack. */
static bool add_entry(struct clumps *c, size_t entry, uint32_t thread)
{
	const struct frames *frames = &c->flat->frames;
	uint32_t node = sample_times_at(c->times, entry)->node;

	do {
		struct stack_node n = profile_get_node(frames->profile, node);
		size_t count;
		const uint32_t *ids = frames_of(frames, n.location, &count);

		for (size_t i = 0; i < (c->has_totals ? count : 1); i++)
			if (!add_part(c, entry, thread, ids[i]))
				return false;
		node = n.parent;
	} while (node && c->has_totals);
	return true;
}

static struct thread_slots *thread_at(struct clumps *c, uint32_t number)
{
	return (struct thread_slots *)c->threads.data + number;
}

/* The number of the entry's thread, which lives in its slot. MAP_NONE: out of memory. */
static uint32_t note_thread(struct clumps *c, const struct timed_value *v)
{
	uint64_t tid = tid_of(c->flat->frames.profile, v->labels);
	uint32_t number = map_get(&c->numbers, tid);
	int64_t slot = slot_of(c, v);
	struct thread_slots *t;

	if (number == MAP_NONE) {
		number = (uint32_t)c->threads.count;
		t = rows_add(&c->threads, sizeof *t);
		if (!t || map_put(&c->numbers, tid, number) < 0)
			return MAP_NONE;
		*t = (struct thread_slots){ slot, slot };
	}
	t = thread_at(c, number);
	t->first = slot < t->first ? slot : t->first;
	t->last = slot > t->last ? slot : t->last;
	return number;
}

static int collect(struct clumps *c, size_t type, struct err *e)
{
	for (size_t i = 0; i < c->times->entries.count; i++) {
		const struct timed_value *v = sample_times_at(c->times, i);
		uint32_t thread;

		if (v->type != type)
			continue;
		thread = note_thread(c, v);
		if (thread == MAP_NONE || !add_entry(c, i, thread))
			return err_nomem(e);
	}
	return 0;
}

static int compare_parts(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	if (a->row != b->row)
		return (a->row > b->row) - (a->row < b->row);
	if (a->thread != b->thread)
		return (a->thread > b->thread) - (a->thread < b->thread);
	return (a->slot > b->slot) - (a->slot < b->slot);
}

/* Parts of the same slot become one. */
static void merge_parts(struct clumps *c)
{
	struct part *all = c->parts.data;
	size_t count = 0;

	if (c->parts.count)
		qsort(all, c->parts.count, sizeof *all, compare_parts);
	for (size_t i = 0; i < c->parts.count; i++) {
		if (count && compare_parts(&all[count - 1], &all[i]) == 0)
			all[count - 1].value += all[i].value;
		else
			all[count++] = all[i];
	}
	c->parts.count = count;
}

/* Half the squares of the steps before and behind a part; slots without a part are 0. */
static double steps_around(const struct clumps *c, size_t i)
{
	const struct part *all = c->parts.data, *at = &all[i];
	const struct thread_slots *t = (const struct thread_slots *)c->threads.data + at->thread;
	bool follows = i && all[i - 1].row == at->row && all[i - 1].thread == at->thread &&
		       all[i - 1].slot == at->slot - 1;
	bool is_followed = i + 1 < c->parts.count && all[i + 1].row == at->row &&
			   all[i + 1].thread == at->thread && all[i + 1].slot == at->slot + 1;
	double sum = 0;

	if (at->slot > t->first)
		sum += pow(at->value - (follows ? all[i - 1].value : 0), 2) / 2;
	if (at->slot < t->last && !is_followed)
		sum += pow(at->value, 2) / 2;
	return sum;
}

static void compare_slots(const struct clumps *c, double slots_per_pair, double per_sample,
			  double *to)
{
	const struct part *all = c->parts.data;

	for (size_t i = 0; i < c->parts.count;) {
		uint32_t row = all[i].row;
		double sum = 0, steps = 0;

		for (; i < c->parts.count && all[i].row == row; i++) {
			sum += all[i].value;
			steps += steps_around(c, i);
		}
		if (sum > 0 && per_sample > 0)
			to[row] = fmax(1, steps * slots_per_pair / (sum * per_sample));
	}
}

static int measure(struct clumps *c, size_t type, double per_sample, double **ret, struct err *e)
{
	double slots = 0, pairs = 0;
	int rc = collect(c, type, e);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < c->threads.count; i++) {
		slots += (double)(thread_at(c, i)->last - thread_at(c, i)->first + 1);
		pairs += (double)(thread_at(c, i)->last - thread_at(c, i)->first);
	}
	if (pairs < LEAST_PAIRS)
		return 0;
	*ret = calloc(c->flat->row_count, sizeof **ret);
	if (!*ret)
		return err_nomem(e);
	for (size_t i = 0; i < c->flat->row_count; i++)
		(*ret)[i] = 1;
	merge_parts(c);
	compare_slots(c, slots / pairs, per_sample, *ret);
	return 0;
}

int clumps_measure(const struct flat *f, size_t type, double per_sample, bool has_totals,
		   double **ret, struct err *e)
{
	const struct sample_times *times = profile_get_times(f->frames.profile);
	struct clumps c = { .flat = f, .times = times, .has_totals = has_totals };
	uint32_t last = 0;
	double duration;
	int rc;

	*ret = NULL;
	for (size_t i = 0; i < times->entries.count; i++)
		last = sample_times_at(times, i)->bucket > last ? sample_times_at(times, i)->bucket
								: last;
	duration = ((double)last + 1) * (double)times->bucket_ns;
	if (!times->entries.count || duration < SLOTS)
		return 0;
	c.slot_ns = (int64_t)fmin((double)NS_PER_S, duration / SLOTS);
	c.seen = calloc(f->row_count, sizeof *c.seen);
	rc = c.seen ? measure(&c, type, per_sample, ret, e) : err_nomem(e);
	free(c.seen);
	map_fini(&c.numbers);
	rows_fini(&c.threads);
	rows_fini(&c.parts);
	return rc;
}
