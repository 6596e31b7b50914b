/* SPDX-License-Identifier: MIT */
/*
 * stat: the metrics of what a command used, run by run, and its processes.
 */
#ifndef MODEL_STAT_H
#define MODEL_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

#define STAT_MAX_METRICS 80
#define STAT_MAX_COMMANDS 5 /* that are compared */

/* One of one run. Runs have the same metrics in the same order. */
struct stat_metric {
	const char *group, *name, *unit; /* literals */
	bool has_value;
	bool is_verbose; /* only in verbose tables */
	int64_t value;
	char detail[96]; /* its source, what it stands for, or why there is none; of one run */
};

/* All runs of a command. All zero is none. */
struct stat_series {
	const char *command;
	const char *verdict; /* what the numbers say, for tables; NULL: none */
	struct stat_metric last[STAT_MAX_METRICS]; /* [metric_count] of the last run */
	size_t metric_count;
	struct stat_metric *runs;       /* [run_count][metric_count]; owned */
	size_t run_count, failed_count; /* failed: with a status other than 0 */
};

int stat_series_add(struct stat_series *s, const struct stat_metric *metrics, size_t count,
		    struct err *e) MUST_CHECK;
void stat_series_fini(struct stat_series *s);

/* Over the runs of a series; a metric that one run lacks is lacking. */
struct stat_summary {
	bool has_value;
	int64_t median, least, most;
};

/* metric: [0..metric_count). 0 or -ENOMEM. */
int stat_summarize(const struct stat_series *s, size_t metric, struct stat_summary *ret,
		   struct err *e) MUST_CHECK;

/* How far the runs of a series are apart. An outlier is further from the median than 3.5 times the
 * (scaled) median distance. Source: Iglewicz and Hoaglin, How to Detect and Handle Outliers. */
struct stat_spread {
	double mean, sigma; /* sigma: sample standard deviation; 0 of one run */
	int64_t least, most;
	size_t count, outliers;
	bool is_first_outlier; /* the first run is one */
};

/* Of the metric of this name; all zero when a run lacks it. 0 or -ENOMEM. */
int stat_spread(const struct stat_series *s, const char *name, struct stat_spread *ret,
		struct err *e) MUST_CHECK;

/* mean of b / mean of a, with its 95 % confidence interval (Welch's, of the logarithms). */
struct stat_ratio {
	bool has_value, has_interval; /* an interval needs two runs of each */
	double value, least, most;
};
struct stat_ratio stat_ratio(const struct stat_spread *a, const struct stat_spread *b);

/* Of one process, or of several: then the peak is that of the largest, the rest are sums. */
struct stat_usage {
	int64_t wall_ns, user_ns, system_ns, minor_faults, major_faults;
	int64_t peak_rss_bytes; /* 0: unknown */
	int64_t run_wait_ns;    /* -1: unknown */
};

/* As of qsort(): more CPU time comes first. */
int stat_usage_compare(const struct stat_usage *a, const struct stat_usage *b);

/* Of the last run. */
struct stat_process {
	int64_t pid, parent;
	const char *name; /* of its program */
	const char *command;
	struct stat_usage usage;
};

/* The same, then by process id. */
int stat_process_compare(const void *a, const void *b);

#endif
