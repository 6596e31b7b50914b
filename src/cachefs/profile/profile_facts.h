/* SPDX-License-Identifier: MIT */
/* profile_facts: a snapshot of all data that a cache's profiling files show. */
#ifndef CACHEFS_PROFILE_PROFILE_FACTS_H
#define CACHEFS_PROFILE_PROFILE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cachefs/profile/metrics.h"
#include "cachefs/profile/path_list.h"
#include "cachefs/profile/timeline.h"
#include "cachefs/store/cache.h"

enum profile_mode {
	PROFILE_OFF,
	PROFILE_TOTALS, /* operations only */
	PROFILE_TOP,    /* and the paths with most events */
	PROFILE_PATHS,  /* and all paths */
};
extern const char *const profile_mode_names[]; /* by profile_mode; Copper's names */

/* The settings of a mount, for its files. */
struct profile_config {
	const char *target, *view; /* absolute; borrowed */
	enum profile_mode mode;
	uint64_t top_paths; /* rows of each list of top paths; 0: no lists */
	int64_t negative_ttl_ms;
	uint64_t budget_bytes;
	bool is_exact;  /* the kernel caches nothing, so every call was counted */
	bool is_copper; /* Copper's files are written, with its wording */
	int64_t start_ns, start_wall_ns;
};

struct profile_facts {
	const struct profile_config *config;
	const char *tag;                        /* of the folder; NULL: final */
	struct metrics_counts ops[METRICS_OPS]; /* by metrics_op */
	uint64_t sums[METRICS_SUMS];            /* over all operations */
	uint64_t negatives[NEGATIVE_EVENTS];
	uint64_t storage_calls, failures, timeouts, interrupts, stale;
	uint64_t used_bytes[USAGE_TABLES], entries[USAGE_TABLES];
	struct path_list paths; /* empty unless paths are counted */
	int64_t now_ns;
};

/* has_paths: reads each path, too. */
int profile_facts_read(const struct profile_config *config, struct cache *c, struct metrics *m,
		       bool has_paths, struct profile_facts **ret, struct err *e) MUST_CHECK;
void profile_facts_free(struct profile_facts *f); /* NULL is allowed */

uint64_t profile_facts_used(const struct profile_facts *f);      /* bytes of all tables */
uint64_t profile_facts_remaining(const struct profile_facts *f); /* of the budget */

#endif
