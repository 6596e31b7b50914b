/* SPDX-License-Identifier: MIT */
#include "model/stages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/rows.h"

#define TIME "nanoseconds"
#define SIZE "bytes"
#define COUNT "count"

/* clang-format off */
const struct stage_metric_info stage_metrics[STAGE_METRICS] = {
	[STAGE_CALLS] = { "calls", COUNT, "calls", FOLD_SUM },
	[STAGE_WALL] = { "wall_s", TIME, "wall", FOLD_SUM },
	[STAGE_SELF_WALL] = { "self_wall_s", TIME, NULL, FOLD_SUM },
	[STAGE_WALL_MIN] = { "wall_min_s", TIME, NULL, FOLD_MIN },
	[STAGE_WALL_P50] = { "wall_p50_s", TIME, NULL, FOLD_MAX },
	[STAGE_WALL_P95] = { "wall_p95_s", TIME, NULL, FOLD_MAX },
	[STAGE_WALL_P99] = { "wall_p99_s", TIME, NULL, FOLD_MAX },
	[STAGE_WALL_MAX] = { "wall_max_s", TIME, NULL, FOLD_MAX },
	[STAGE_WALL_UNION] = { "wall_union_s", TIME, NULL, FOLD_SUM },
	[STAGE_CPU] = { "cpu_s", TIME, "cpu", FOLD_SUM },
	[STAGE_CPU_THREAD] = { "cpu_thread_s", TIME, "cpu_thread", FOLD_SUM },
	[STAGE_WAIT] = { "wait_s", TIME, "wait", FOLD_SUM },
	[STAGE_PY_DELTA] = { "py_kb_delta", SIZE, "py_delta", FOLD_SUM },
	[STAGE_PY_PEAK] = { "py_kb_peak_max", SIZE, NULL, FOLD_MAX },
	[STAGE_HEAP_DELTA] = { "heap_kb_delta", SIZE, "heap_delta", FOLD_SUM },
	[STAGE_HEAP_PEAK] = { "heap_kb_peak_max", SIZE, NULL, FOLD_MAX },
	[STAGE_HEAP_OVER_ENTRY] = { "heap_kb_over_entry_max", SIZE, NULL, FOLD_MAX },
	[STAGE_ALLOCS] = { "allocs", COUNT, "allocs", FOLD_SUM },
	[STAGE_ALLOC_KB] = { "alloc_kb", SIZE, "alloc_space", FOLD_SUM },
	[STAGE_FREES] = { "frees", COUNT, "frees", FOLD_SUM },
	[STAGE_RSS_DELTA] = { "rss_kb_delta", SIZE, "rss_delta", FOLD_SUM },
	[STAGE_RSS_PEAK] = { "rss_kb_peak", SIZE, NULL, FOLD_MAX },
	[STAGE_MINOR_FAULTS] = { "minor_faults", COUNT, "minor_faults", FOLD_SUM },
	[STAGE_MAJOR_FAULTS] = { "major_faults", COUNT, "major_faults", FOLD_SUM },
	[STAGE_CTX_SWITCHES] = { "ctx_switches", COUNT, "ctx_switches", FOLD_SUM },
	[STAGE_READ_KB] = { "read_kb", SIZE, "read", FOLD_SUM },
	[STAGE_WRITE_KB] = { "write_kb", SIZE, "write", FOLD_SUM },
	[STAGE_THREADS] = { "threads", COUNT, NULL, FOLD_MAX },
	[STAGE_ERRORS] = { "errors", COUNT, NULL, FOLD_SUM },
	[STAGE_OPEN] = { "open", COUNT, NULL, FOLD_SUM },
};
/* clang-format on */

struct stages {
	struct strtab *texts;
	struct map by_pair; /* (group, stage) to index of sum */
	struct rows sums;   /* struct stage_sum */
	struct stages_totals totals;
	uint64_t has;
};

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

int64_t stage_value(enum stage_metric metric, int64_t value)
{
	int64_t bytes;

	if (strcmp(stage_metrics[metric].unit, SIZE) != 0)
		return value;
	if (__builtin_mul_overflow(value, INT64_C(1024), &bytes))
		return value < 0 ? INT64_MIN : INT64_MAX;
	return bytes;
}

struct stages *stages_new(void)
{
	struct stages *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->texts = strtab_new();
	if (!s->texts) {
		free(s);
		return NULL;
	}
	return s;
}

static struct stage_sum *sum_at(const struct stages *s, size_t i)
{
	return (struct stage_sum *)s->sums.data + i;
}

void stages_free(struct stages *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->sums.count; i++) {
		sketch_fini(&sum_at(s, i)->walls);
		free(sum_at(s, i)->slowest);
	}
	rows_fini(&s->sums);
	map_fini(&s->by_pair);
	strtab_free(s->texts);
	free(s);
}

/* The sum of a pair, a new one when it has none yet. NULL: out of memory. */
static struct stage_sum *sum_of(struct stages *s, uint32_t group, struct str name)
{
	bool is_full = s->sums.count >= STAGES_MAX_SUMS;
	uint32_t stage = is_full ? strtab_find(s->texts, name.ptr, name.len)
				 : strtab_intern(s->texts, name.ptr, name.len);
	uint32_t *index;
	struct stage_sum *sum;

	if (is_full && (stage == STRTAB_NONE || group == STRTAB_NONE ||
			map_get(&s->by_pair, map_pair(group, stage)) == MAP_NONE)) {
		s->totals.other++;
		group = strtab_intern(s->texts, "", 0);
		stage = strtab_intern(s->texts, STAGES_OTHER, strlen(STAGES_OTHER));
	}
	if (stage == STRTAB_NONE || group == STRTAB_NONE)
		return NULL;
	index = map_at(&s->by_pair, map_pair(group, stage));
	if (!index)
		return NULL;
	if (*index != MAP_NONE)
		return sum_at(s, *index);
	sum = rows_add(&s->sums, sizeof *sum);
	if (!sum)
		return NULL;
	*index = (uint32_t)(s->sums.count - 1);
	sum->group = group;
	sum->stage = stage;
	return sum;
}

/* Adds the values of the stage's last record to the distribution. */
static int end_record(struct stage_sum *sum)
{
	double seconds = (double)sum->record_wall_ns / 1e9;

	if (!sum->record || !(sum->has >> STAGE_WALL & 1))
		return 0;
	sum->record = 0;
	sum->wall_sum += seconds;
	sum->wall_sum2 += seconds * seconds;
	return sketch_add(&sum->walls, sum->record_wall_ns);
}

static int note_slowest(struct stage_sum *sum, struct str name)
{
	char *copy;

	if (sum->slowest && sum->record_wall_ns <= sum->slowest_wall_ns)
		return 0;
	sum->slowest_wall_ns = sum->record_wall_ns;
	if (!name.ptr)
		return 0;
	if (name.len > STAGES_NAME_BYTES)
		name.len = STAGES_NAME_BYTES;
	copy = strndup(name.ptr, name.len);
	if (!copy)
		return -ENOMEM;
	free(sum->slowest);
	sum->slowest = copy;
	return 0;
}

static void fold(struct stage_sum *sum, const struct stage_row *row)
{
	for (uint64_t left = row->has; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		int64_t *to = &sum->values[i], value = row->values[i];

		if (!(sum->has >> i & 1))
			*to = value;
		else if (stage_metrics[i].fold == FOLD_SUM)
			*to = add(*to, value);
		else if (stage_metrics[i].fold == FOLD_MAX ? value > *to : value < *to)
			*to = value;
	}
	sum->has |= row->has;
}

static int add_row(struct stages *s, uint32_t group, const struct stage_record *r,
		   const struct stage_row *row)
{
	struct stage_sum *sum = sum_of(s, group, row->name);

	if (!sum)
		return -ENOMEM;
	if (sum->record != s->totals.records) {
		if (end_record(sum) < 0)
			return -ENOMEM;
		sum->record = s->totals.records;
		sum->record_wall_ns = 0;
		sum->records++;
	}
	fold(sum, row);
	s->has |= row->has;
	if (!(row->has >> STAGE_WALL & 1))
		return 0;
	sum->record_wall_ns = add(sum->record_wall_ns, row->values[STAGE_WALL]);
	return note_slowest(sum, r->name);
}

static void add_totals(struct stages_totals *t, const struct stage_record *r)
{
	t->records++;
	t->has_wall |= r->has_total_wall;
	t->has_cpu |= r->has_total_cpu;
	t->has_rss_peak |= r->has_rss_peak;
	t->wall_ns = add(t->wall_ns, r->total_wall_ns);
	t->cpu_ns = add(t->cpu_ns, r->total_cpu_ns);
	if (r->rss_peak_kb > t->rss_peak_kb)
		t->rss_peak_kb = r->rss_peak_kb;
	if (r->start_ns <= 0)
		return;
	if (!t->first_start_ns || r->start_ns < t->first_start_ns)
		t->first_start_ns = r->start_ns;
	if (add(r->start_ns, r->total_wall_ns) > t->last_end_ns)
		t->last_end_ns = add(r->start_ns, r->total_wall_ns);
}

int stages_add(struct stages *s, const struct stage_record *r)
{
	uint32_t group;
	int rc = 0;

	/* Groups that come when all is full are not kept. */
	if (s->sums.count >= STAGES_MAX_SUMS)
		group = strtab_find(s->texts, r->group.ptr, r->group.len);
	else
		group = strtab_intern(s->texts, r->group.ptr, r->group.len);
	if (group == STRTAB_NONE && s->sums.count < STAGES_MAX_SUMS)
		return -ENOMEM;
	add_totals(&s->totals, r);
	for (size_t i = 0; i < r->row_count && rc == 0; i++)
		rc = add_row(s, group, r, &r->rows[i]);
	return rc;
}

static void take(int64_t *from, int64_t value)
{
	if (__builtin_sub_overflow(*from, value, from))
		*from = value < 0 ? INT64_MAX : INT64_MIN;
}

/* The self wall time of a stage, which no report has: without its direct children. */
static void derive_self(struct stages *s)
{
	if (s->has >> STAGE_SELF_WALL & 1 || !(s->has >> STAGE_WALL & 1))
		return;
	for (size_t i = 0; i < s->sums.count; i++) {
		struct stage_sum *sum = sum_at(s, i);
		ptrdiff_t parent = stages_find_parent(s, i);

		sum->values[STAGE_SELF_WALL] =
			add(sum->values[STAGE_SELF_WALL], sum->values[STAGE_WALL]);
		sum->has |= (sum->has >> STAGE_WALL & 1) << STAGE_SELF_WALL;
		if (parent >= 0)
			take(&sum_at(s, (size_t)parent)->values[STAGE_SELF_WALL],
			     sum->values[STAGE_WALL]);
	}
	for (size_t i = 0; i < s->sums.count; i++)
		if (sum_at(s, i)->values[STAGE_SELF_WALL] < 0)
			sum_at(s, i)->values[STAGE_SELF_WALL] = 0;
	s->has |= UINT64_C(1) << STAGE_SELF_WALL;
}

int stages_end(struct stages *s)
{
	for (size_t i = 0; i < s->sums.count; i++)
		if (end_record(sum_at(s, i)) < 0)
			return -ENOMEM;
	derive_self(s);
	return 0;
}

const struct stages_totals *stages_totals(const struct stages *s)
{
	return &s->totals;
}

size_t stages_count(const struct stages *s)
{
	return s->sums.count;
}

const struct stage_sum *stages_get(const struct stages *s, size_t i)
{
	return sum_at(s, i);
}

struct str stages_text(const struct stages *s, uint32_t id)
{
	return strtab_get(s->texts, id);
}

bool stages_has(const struct stages *s, enum stage_metric metric)
{
	return s->has >> metric & 1;
}

ptrdiff_t stages_find(const struct stages *s, struct str group, struct str stage)
{
	uint32_t group_id = strtab_find(s->texts, group.ptr, group.len);
	uint32_t stage_id = strtab_find(s->texts, stage.ptr, stage.len), index;

	if (group_id == STRTAB_NONE || stage_id == STRTAB_NONE)
		return -1;
	index = map_get(&s->by_pair, map_pair(group_id, stage_id));
	return index == MAP_NONE ? -1 : (ptrdiff_t)index;
}

ptrdiff_t stages_find_parent(const struct stages *s, size_t i)
{
	struct str name = stages_text(s, stages_get(s, i)->stage);
	struct str group = stages_text(s, stages_get(s, i)->group);
	ptrdiff_t found = -1;

	while (name.len && found < 0) {
		const char *dot = memrchr(name.ptr, '.', name.len);

		name.len = dot ? (size_t)(dot - name.ptr) : 0;
		if (name.len)
			found = stages_find(s, group, name);
	}
	return found;
}
