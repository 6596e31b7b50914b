/* SPDX-License-Identifier: MIT */
/*
 * stages: reduces reports of pipeline stages to one sum per stage (and group).
 *
 * A record is one line of results; its report has one row per stage. Memory depends on the
 * distinct (group, stage) pairs only, not on the number of records. At most STAGES_MAX_SUMS pairs
 * are kept apart: the rest is summed under STAGES_OTHER and counted. Sums saturate at the ends of
 * int64_t.
 *
 * Times are nanoseconds, sizes are KiB as in the reports.
 */
#ifndef MODEL_STAGES_H
#define MODEL_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/strtab.h"
#include "model/profile.h"
#include "model/sketch.h"

#define STAGES_MAX_SUMS 1000000
#define STAGES_OTHER "(other)"
#define STAGES_NAME_BYTES 200 /* of a record that is remembered by name */

/* The metrics of a row, in the order of columns. */
enum stage_metric {
	STAGE_CALLS,
	STAGE_WALL,
	STAGE_SELF_WALL,
	STAGE_WALL_MIN, /* of a call */
	STAGE_WALL_P50,
	STAGE_WALL_P95,
	STAGE_WALL_P99,
	STAGE_WALL_MAX,
	STAGE_WALL_UNION,
	STAGE_CPU,
	STAGE_CPU_THREAD,
	STAGE_WAIT,
	STAGE_PY_DELTA,
	STAGE_PY_PEAK,
	STAGE_HEAP_DELTA,
	STAGE_HEAP_PEAK,
	STAGE_HEAP_OVER_ENTRY,
	STAGE_ALLOCS,
	STAGE_ALLOC_KB,
	STAGE_FREES,
	STAGE_RSS_DELTA,
	STAGE_RSS_PEAK,
	STAGE_MINOR_FAULTS,
	STAGE_MAJOR_FAULTS,
	STAGE_CTX_SWITCHES,
	STAGE_READ_KB,
	STAGE_WRITE_KB,
	STAGE_THREADS,
	STAGE_ERRORS,
	STAGE_OPEN,
	STAGE_METRICS
};

/* How records add up. */
enum stage_fold { FOLD_SUM, FOLD_MAX, FOLD_MIN };

/* One metric: how it is called in reports, what it is and what becomes of many. */
struct stage_metric_info {
	const char *key;   /* in a report */
	const char *unit;  /* "nanoseconds", "bytes" (reported in KiB), "count" */
	const char *value; /* name of its sample type in a profile; NULL: none */
	enum stage_fold fold;
};
extern const struct stage_metric_info stage_metrics[STAGE_METRICS];

/* In the unit of the profile: KiB become bytes. */
int64_t stage_value(enum stage_metric metric, int64_t value);

struct stage_row {
	struct str name;
	int64_t values[STAGE_METRICS];
	uint64_t has; /* bit 1 << metric: it was measured */
};

/* A report, and the identity of its record; borrowed. ptr NULL: unknown. */
struct stage_record {
	struct str group;   /* the value of --by */
	struct str name;    /* what the record is about, or where it is */
	struct str job;     /* of Slurm: "123", or "120_7" of an array */
	struct str raw_job; /* the number that a task of an array has as well */
	int64_t start_ns;   /* CLOCK_REALTIME; 0: unknown */
	int64_t total_wall_ns, total_cpu_ns, rss_peak_kb;
	bool has_total_wall, has_total_cpu, has_rss_peak;
	const struct stage_row *rows; /* [row_count] */
	size_t row_count;
};

/* All records of one stage in one group. */
struct stage_sum {
	uint32_t group, stage; /* string ids */
	uint64_t records;
	int64_t values[STAGE_METRICS]; /* folded */
	uint64_t has;
	struct sketch walls;        /* of the records' own wall times */
	double wall_sum, wall_sum2; /* of them, in seconds, and their squares */
	char *slowest;              /* name of the record with the largest wall; owned */
	int64_t slowest_wall_ns;
	uint64_t record;        /* number of the record being summed */
	int64_t record_wall_ns; /* of that record so far */
};

struct stages_totals {
	uint64_t records;
	int64_t wall_ns, cpu_ns, rss_peak_kb; /* sums; the largest */
	bool has_wall, has_cpu, has_rss_peak;
	int64_t first_start_ns, last_end_ns; /* 0: unknown */
	uint64_t other;                      /* rows under STAGES_OTHER */
};

struct stages;

struct stages *stages_new(void) MUST_CHECK; /* NULL: out of memory */
void stages_free(struct stages *s);         /* NULL is allowed */

/* 0 or -ENOMEM, after which the sums are not to be used. */
int stages_add(struct stages *s, const struct stage_record *r) MUST_CHECK;

/*
 * After the last record: completes the sums. Where no report has STAGE_SELF_WALL, it is the wall
 * time less that of the stages within, and at least 0 (those of other threads take time of their
 * own). 0 or -ENOMEM.
 */
int stages_end(struct stages *s) MUST_CHECK;

const struct stages_totals *stages_totals(const struct stages *s);
size_t stages_count(const struct stages *s);
const struct stage_sum *stages_get(const struct stages *s, size_t i); /* in order of first sight */
struct str stages_text(const struct stages *s, uint32_t id);
/* Was a metric measured by any row? */
bool stages_has(const struct stages *s, enum stage_metric metric);
/* Index of the sum of this stage in this group, or -1. */
ptrdiff_t stages_find(const struct stages *s, struct str group, struct str stage);
/* The stage that another one is within: the longest label that is one and ends before a dot of
 * its label. Index, or -1. */
ptrdiff_t stages_find_parent(const struct stages *s, size_t i);

/*
 * The sums as a profile: dotted labels as stacks, values without those of the stages within (wall
 * is STAGE_SELF_WALL), a label key for the groups (NULL: none). Peaks and what else does not add up
 * are left out. Fills an empty profile, which remembers failure.
 */
void stages_to_profile(const struct stages *s, const char *group_key, struct profile *p);

/* What was read besides the reports. */
struct stage_inputs {
	uint64_t files;
	uint64_t damaged; /* lines */
	uint64_t without; /* records that have no report */
};

#endif
