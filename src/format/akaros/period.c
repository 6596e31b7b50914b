/* SPDX-License-Identifier: MIT */
#include "format/akaros/period.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "format/akaros/trace.h"

#define MAX_STEP ((uint64_t)60 * NS_PER_S)
#define MAX_STEPS 65536 /* of a core that are kept: far more than a median needs */
#define LEAP 4          /* times the median */

struct core {
	uint64_t last_ns;
	uint64_t still;    /* samples at the same time as the one before */
	struct rows steps; /* uint64_t, not 0 */
	int64_t period;    /* 0: unknown */
};

void akaros_periods_fini(struct akaros_periods *p)
{
	struct core *cores = p->cores.data;

	for (size_t i = 0; i < p->cores.count; i++)
		rows_fini(&cores[i].steps);
	rows_fini(&p->cores);
	map_fini(&p->by_core);
}

static struct core *find_core(struct akaros_periods *p, uint32_t number)
{
	uint32_t *index = map_at(&p->by_core, number);

	if (!index)
		return NULL;
	if (*index == MAP_NONE) {
		if (!rows_add(&p->cores, sizeof(struct core)))
			return NULL;
		*index = (uint32_t)p->cores.count - 1;
	}
	return (struct core *)p->cores.data + *index;
}

int akaros_periods_add(struct akaros_periods *p, uint32_t number, uint64_t ns)
{
	struct core *core;
	uint64_t *step;

	if (!ns)
		return 0;
	core = find_core(p, number);
	if (!core)
		return -ENOMEM;
	if (!p->first || ns < p->first)
		p->first = ns;
	if (ns > p->last)
		p->last = ns;
	if (core->last_ns && core->steps.count < MAX_STEPS) {
		core->still += ns == core->last_ns;
		if (ns > core->last_ns && ns - core->last_ns <= MAX_STEP) {
			step = rows_add(&core->steps, sizeof *step);
			if (!step)
				return -ENOMEM;
			*step = ns - core->last_ns;
		}
	}
	core->last_ns = ns;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* steps: [count], count > 0; sorts them. */
static uint64_t median(uint64_t *steps, size_t count)
{
	qsort(steps, count, sizeof *steps, compare);
	return steps[(count - 1) / 2];
}

static uint64_t mean_without_leaps(const struct core *core, uint64_t middle)
{
	const uint64_t *steps = core->steps.data;
	uint64_t sum = 0, count = core->still;

	for (size_t i = 0; i < core->steps.count && steps[i] <= LEAP * middle; i++, count++)
		sum += steps[i];
	return sum / count ? sum / count : 1;
}

static void settle_core(struct core *core)
{
	uint64_t middle;

	if (!core->steps.count)
		return;
	middle = median(core->steps.data, core->steps.count);
	if (core->still > core->steps.count)
		middle = mean_without_leaps(core, middle);
	core->period = (int64_t)middle;
}

/* Within a tenth all are the same: timers are late now and then. */
static bool are_alike(const struct core *cores, size_t count)
{
	int64_t least = INT64_MAX, most = 0;

	for (size_t i = 0; i < count; i++) {
		if (cores[i].period && cores[i].period < least)
			least = cores[i].period;
		if (cores[i].period > most)
			most = cores[i].period;
	}
	return !most || most - least <= least / 10;
}

/* The median of the cores' periods; the kernel's own when none is known. */
static int64_t middle_period(const struct core *cores, size_t count)
{
	uint64_t *periods = calloc(count + 1, sizeof *periods);
	int64_t period = AKAROS_PERIOD_NS;
	size_t known = 0;

	for (size_t i = 0; i < count; i++)
		if (cores[i].period) {
			period = cores[i].period;
			if (periods)
				periods[known++] = (uint64_t)period;
		}
	if (known)
		period = (int64_t)median(periods, known);
	free(periods);
	return period;
}

void akaros_periods_finish(struct akaros_periods *p)
{
	struct core *cores = p->cores.data;

	for (size_t i = 0; i < p->cores.count; i++)
		settle_core(&cores[i]);
	p->is_common = are_alike(cores, p->cores.count);
	p->middle = middle_period(cores, p->cores.count);
	for (size_t i = 0; i < p->cores.count; i++)
		if (p->is_common || !cores[i].period)
			cores[i].period = p->middle;
}

int64_t akaros_periods_get(const struct akaros_periods *p, uint32_t number)
{
	const struct core *cores = p->cores.data;
	uint32_t index = map_get(&p->by_core, number);

	return index == MAP_NONE ? p->middle : cores[index].period;
}
