/* SPDX-License-Identifier: MIT */
/* run_report: what "cache run" prints at its end: five lines, and with -v the summary. */
#ifndef CLI_CACHE_RUN_REPORT_H
#define CLI_CACHE_RUN_REPORT_H

#include "cachefs/profile/control.h"
#include "cacherun/cacherun.h"

struct run_report {
	struct control_stats stats;
	struct control_slowest slowest;
	struct err reason; /* why the two could not be read; code 0: they were */
};

/* Before the unmount, which ends the counting. */
void run_report_read(const char *view, struct run_report *ret);

/* After it: to standard error. rank: the name of its files. */
void run_report_print(const struct run_report *r, const struct cacherun_folders *f,
		      const char *rank);

#endif
