/* SPDX-License-Identifier: MIT */
/* metric_list: metrics being listed, and those that all kinds of auger stat have. */
#ifndef USAGE_METRIC_LIST_H
#define USAGE_METRIC_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "model/stat.h"
#include "target/cgroup.h"
#include "target/pressure.h"
#include "usage/counters.h"

struct stat_list {
	struct stat_metric *all; /* [count], of STAT_MAX_METRICS; borrowed */
	size_t count;
	const char *group; /* of the next one; a literal */
	bool is_verbose;   /* so is the next one */
};

/* name, unit: literals. The new metric. */
struct stat_metric *stat_add(struct stat_list *l, const char *name, const char *unit,
			     bool has_value, int64_t value);
/* Its detail. */
void stat_note(struct stat_metric *f, const char *fmt, ...) PRINTF(2, 3);

void stat_add_counters(struct stat_list *l, const struct counters *all);
void stat_add_pressure(struct stat_list *l, const struct pressure *p);
void stat_add_cgroup(struct stat_list *l, const struct cgroup_usage *c);

#endif
