/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/profile_facts.h"

#include <stdlib.h>

#include "base/clock.h"

const char *const profile_mode_names[] = {
	[PROFILE_OFF] = "disabled",
	[PROFILE_TOTALS] = "aggregate-only",
	[PROFILE_TOP] = "top-path",
	[PROFILE_PATHS] = "full-path",
};

static void read_metrics(struct profile_facts *f, struct metrics *m)
{
	for (int op = 0; op < METRICS_OPS; op++) {
		metrics_read(m, (enum metrics_op)op, &f->ops[op]);
		for (int i = 0; i < METRICS_SUMS; i++)
			f->sums[i] += f->ops[op].sums[i];
	}
}

static void read_cache(struct profile_facts *f, struct cache *c)
{
	const struct cache_counts *counts = cache_counts(c);
	const struct usage *usage = cache_usage(c);

	for (int i = 0; i < NEGATIVE_EVENTS; i++)
		f->negatives[i] = atomic_load(&counts->negatives[i]);
	f->storage_calls = atomic_load(&counts->storage.calls);
	f->failures = atomic_load(&counts->storage.failures);
	f->timeouts = atomic_load(&counts->storage.timeouts);
	f->interrupts = atomic_load(&counts->storage.interrupts);
	f->stale = atomic_load(&counts->stale);
	for (int i = 0; i < USAGE_TABLES; i++) {
		f->used_bytes[i] = atomic_load(&usage->bytes[i]);
		f->entries[i] = atomic_load(&usage->entries[i]);
	}
}

int profile_facts_read(const struct profile_config *config, struct cache *c, struct metrics *m,
		       bool has_paths, struct profile_facts **ret, struct err *e)
{
	struct profile_facts *f = calloc(1, sizeof *f);

	if (!f)
		return err_nomem(e);
	f->config = config;
	f->now_ns = clock_mono_ns();
	read_metrics(f, m);
	read_cache(f, c);
	if (has_paths && path_list_make(c, config->target, &f->paths) < 0) {
		profile_facts_free(f);
		return err_nomem(e);
	}
	*ret = f;
	return 0;
}

void profile_facts_free(struct profile_facts *f)
{
	if (!f)
		return;
	path_list_fini(&f->paths);
	free(f);
}

uint64_t profile_facts_used(const struct profile_facts *f)
{
	uint64_t sum = 0;

	for (int i = 0; i < USAGE_TABLES; i++)
		sum += f->used_bytes[i];
	return sum;
}

uint64_t profile_facts_remaining(const struct profile_facts *f)
{
	uint64_t used = profile_facts_used(f);

	return used < f->config->budget_bytes ? f->config->budget_bytes - used : 0;
}
