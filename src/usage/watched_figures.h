/* SPDX-License-Identifier: MIT */
/* watched_figures: what observed processes, or the machine, used, as figures and processes. */
#ifndef USAGE_WATCHED_FIGURES_H
#define USAGE_WATCHED_FIGURES_H

#include "model/stat.h"
#include "usage/watched.h"

/* How many: always the same for the machine, and for processes. */
size_t watched_figures(const struct watched *w, bool is_machine,
		       struct stat_figure ret[STAT_MAX_FIGURES]);

/* What each used in this time; of the machine's those that used CPU time, the most first. *ret:
 * [*ret_count], the caller's; its texts are w's. */
int watched_processes(const struct watched *w, bool is_machine, struct stat_process **ret,
		      size_t *ret_count, struct err *e) MUST_CHECK;

#endif
