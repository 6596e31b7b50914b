/* SPDX-License-Identifier: MIT */
/*
 * report: a profile as rows: functions (lines, modules), a calling-context tree, callers and
 * callees, label values. Each view puts a head and rows into an emitter that has begun; the
 * caller ends it. Percentages are of the total of the profile given (what a filter left).
 */
#ifndef VIEW_REPORT_H
#define VIEW_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/profile.h"
#include "view/emit.h"
#include "view/flat.h"

/* What is known of a profile before it is filtered. */
struct report_facts {
	int64_t total;   /* of the type */
	int64_t samples; /* without the lost ones; -1: the profile does not count samples */
	int64_t lost;    /* of stacks that are "[lost]" alone */
};

struct report_opts {
	const char *file;          /* as the user named it */
	const char *filter;        /* as the user gave it; NULL: none */
	struct report_facts facts; /* of the whole profile */
	size_t type;               /* index of the sample type */
	bool is_sum;               /* of several files: what comments differ in is hidden */
	size_t limit;              /* rows (of each list); 0: all */
	enum flat_order order;
};

struct report_facts report_facts(const struct profile *p, size_t type);

/* One row a function, line or module. */
int report_flat(struct emit *out, const struct profile *p, const struct report_opts *o,
		enum frame_by by, struct err *e) MUST_CHECK;

/* One row a node of the calling-context tree, each below its caller; nodes with less than
 * min_percent of the total are left out. A function that calls only itself is one row. */
int report_tree(struct emit *out, const struct profile *p, const struct report_opts *o,
		enum frame_by by, double min_percent, struct err *e) MUST_CHECK;

/*
 * The functions named (exactly, else by a regular expression, regex(7)) with those that call
 * them above (callers) and those that they call below (callees); either may be NULL. A bad
 * expression is -EINVAL, no match -ENOENT.
 */
int report_edges(struct emit *out, const struct profile *p, const struct report_opts *o,
		 enum frame_by by, const char *callers, const char *callees,
		 struct err *e) MUST_CHECK;

/* One row a value of the label; "thread" is comm and tid, "pid" shows a process' main comm. */
int report_labels(struct emit *out, const struct profile *p, const struct report_opts *o,
		  const char *key, struct err *e) MUST_CHECK;

/*
 * One row a rank (label "rank") of a profile with classes of activity (activity.h), most work
 * first, which is all but waiting for others (MPI, OpenMP): classes, host, work over the median.
 * Outliers are beyond median +- 3 MAD, and beyond the chance of sampling: a rank against the others
 * of its host, where those are at least three, or against all; a host by the median of its ranks.
 */
int report_ranks(struct emit *out, const struct profile *p, const struct report_opts *o,
		 struct err *e) MUST_CHECK;

/*
 * One row a function over the ranks (label "rank") of a profile with classes of activity
 * (activity.h): mean, max and whose, min, standard deviation, and what all ranks would save
 * together if none had more than the mean: (max - mean) * ranks. Sorted by that. Of self values;
 * with FLAT_BY_TOTAL of totals. Waiting for others (MPI, OpenMP) is left out: it is the effect.
 * Rows whose difference can be the chance of sampling are counted only. -ENODATA: no two ranks.
 */
int report_imbalance(struct emit *out, const struct profile *p, const struct report_opts *o,
		     enum frame_by by, struct err *e) MUST_CHECK;

/* For the views themselves: the head; how many rows were cut, with how much of the total. */
void report_put_head(struct emit *out, const struct profile *p, const struct report_opts *o);
void report_put_cut(struct emit *out, size_t rows, int64_t value, int64_t total);
const char *report_unit(const struct profile *p, size_t type);
/* Of the sample type, between two samples; 0: values are not those of samples at a period. */
double report_period(const struct profile *p, size_t type);
/* How much the largest of count equal values may be above their mean by the chance of sampling. */
double report_chance(size_t count, double mean, double period);
/* The cells that name a row: source line, function, module and more for programs. */
void report_put_names(struct emit *out, const struct flat *f, uint32_t row);
/* For tables: "", " (inlined)", " (partly inlined)"; for programs "no", "yes", "partly". */
const char *report_inlined_suffix(const struct flat_row *row);
const char *report_inlined_word(const struct flat_row *row);

#endif
