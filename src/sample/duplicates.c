/* SPDX-License-Identifier: MIT */
#include "sample/duplicates.h"

#define OWNERS_MAX ((size_t)1 << 20) /* then all are found anew */

void duplicates_fini(struct duplicates *d)
{
	map_fini(&d->lives);
	map_fini(&d->owners);
}

/* The life of a thread; a new one for the first record, and when is_new. */
static uint32_t life_of(struct duplicates *d, uint32_t tid, bool is_new)
{
	uint32_t *life = map_at(&d->lives, tid);

	if (!life)
		return MAP_NONE;
	if (*life == MAP_NONE || is_new)
		*life = d->life_count++;
	return *life;
}

static bool is_of_other(struct duplicates *d, uint32_t tid, uint32_t place, uint32_t id)
{
	uint32_t life = life_of(d, tid, false);
	uint32_t *owner = life == MAP_NONE ? NULL : map_at(&d->owners, map_pair(life, place));

	if (!owner)
		return false;
	if (*owner == MAP_NONE)
		*owner = id;
	return *owner != id;
}

bool duplicates_drop(struct duplicates *d, const struct record *r, uint32_t place)
{
	bool is_fork = r->type == PERF_RECORD_FORK;
	uint32_t id = (uint32_t)r->identifier;

	if (!is_fork && r->type != PERF_RECORD_SAMPLE && r->type != PERF_RECORD_SWITCH)
		return false;
	if (d->owners.count > OWNERS_MAX) {
		map_clear(&d->owners);
		map_clear(&d->lives);
	}
	if (is_of_other(d, is_fork ? r->task.ptid : r->tid, place, id))
		return true;
	if (is_fork)
		life_of(d, r->task.tid, true);
	return false;
}
