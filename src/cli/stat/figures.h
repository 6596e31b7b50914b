/* SPDX-License-Identifier: MIT */
/* stat_figures: what a job used, as figures to be shown. */
#ifndef CLI_STAT_FIGURES_H
#define CLI_STAT_FIGURES_H

#include "usage/jobstat.h"
#include "view/tables/stat_table.h"

/* Those of /usr/bin/time -v first, in its units. How many: always the same. */
size_t stat_figures(const struct job *j, struct stat_figure ret[STAT_MAX_FIGURES]);

#endif
