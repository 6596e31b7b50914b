/* SPDX-License-Identifier: MIT */
/* stat_programs: processes summed up by the names of their programs. */
#ifndef VIEW_TABLES_STAT_PROGRAMS_H
#define VIEW_TABLES_STAT_PROGRAMS_H

#include "base/err.h"
#include "base/macros.h"
#include "view/tables/stat_table.h"

struct stat_program {
	const char *name; /* borrowed from its processes */
	int64_t count;    /* processes */
	struct stat_usage usage;
};

/* Those that used the most CPU time first. *ret: [*ret_count], the caller's. */
int stat_programs(const struct stat_process *all, size_t count, struct stat_program **ret,
		  size_t *ret_count, struct err *e) MUST_CHECK;

#endif
