/* SPDX-License-Identifier: MIT */
/* figure_list: figures being listed, and those that all kinds of auger stat have. */
#ifndef USAGE_FIGURE_LIST_H
#define USAGE_FIGURE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "model/stat.h"
#include "target/cgroup.h"
#include "target/pressure.h"
#include "usage/counters.h"

struct stat_list {
	struct stat_figure *all; /* [count], of STAT_MAX_FIGURES; borrowed */
	size_t count;
	const char *group; /* of the next one; a literal */
};

/* name, unit: literals. The new figure. */
struct stat_figure *stat_add(struct stat_list *l, const char *name, const char *unit,
			     bool has_value, int64_t value);
/* Its detail. */
void stat_tell(struct stat_figure *f, const char *fmt, ...) PRINTF(2, 3);

void stat_add_counters(struct stat_list *l, const struct counters *all);
void stat_add_pressure(struct stat_list *l, const struct pressure *p);
void stat_add_cgroup(struct stat_list *l, const struct cgroup_usage *c);

#endif
