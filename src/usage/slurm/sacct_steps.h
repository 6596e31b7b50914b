/* SPDX-License-Identifier: MIT */
/*
 * sacct_steps: reads the accounting of the steps of a job, as "sacct -P --noconvert" prints it.
 *
 * The first line names the columns, separated by "|". JobID is required, all others are optional.
 *
 * Source: sacct(1), Slurm 22.05.
 */
#ifndef USAGE_SLURM_SACCT_STEPS_H
#define USAGE_SLURM_SACCT_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "base/strtab.h"

enum sacct_field {
	SACCT_ELAPSED, /* nanoseconds, as all times */
	SACCT_CPU_TIME,
	SACCT_USER,
	SACCT_SYSTEM,
	SACCT_TOTAL,
	SACCT_AVE_CPU,
	SACCT_MIN_CPU,
	SACCT_MAX_RSS, /* bytes, as all sizes */
	SACCT_AVE_RSS,
	SACCT_MAX_VM,
	SACCT_MAX_PAGES, /* major faults */
	SACCT_MAX_READ,
	SACCT_MAX_WRITE,
	SACCT_CPUS,
	SACCT_TASKS,
	SACCT_STATUS, /* exit status; 128+N for signal N */
	SACCT_FIELDS
};

/* Names of the columns, for --format. */
extern const char *const sacct_field_names[SACCT_FIELDS];

struct sacct_step {
	struct str id;                /* "123", "123.batch", "120_7.0"; borrowed from the text */
	struct str state;             /* len 0: unknown */
	int64_t values[SACCT_FIELDS]; /* -1: unknown */
};

/* text: [0..len), borrowed for the life of the rows. ret: struct sacct_step, in order of the text;
 * the caller's. -EINVAL: "line N: reason". */
int sacct_steps_read(const char *text, size_t len, struct rows *ret, struct err *e) MUST_CHECK;

#endif
