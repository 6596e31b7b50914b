/* SPDX-License-Identifier: MIT */
/*
 * stage_record: extracts the stage report from one line of results.
 *
 * A line is a JSON object: a report (it has "stages", an array of rows), or a record of results
 * with a report under "profile". The record's "input" names its subject; host, rank and job come
 * from the report, from its top level or from an object of its head ("env", "slurm"). Unknown
 * members are skipped.
 *
 * Times are in seconds, sizes in KiB ("kb"). null means not measured, as do the "py_" columns of a
 * report with "python_memory_traced": false.
 *
 * Source: the report of the stage profiler (docs/auger-stages.1.scd, REPORTS).
 */
#ifndef FORMAT_STAGE_RECORD_H
#define FORMAT_STAGE_RECORD_H

#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/stages.h"

#define STAGE_NAME_MAX 4096 /* bytes of a stage's label */

struct stage_reader;

#define STAGE_KEYS_MAX 4

/* keys: members whose values, with commas between, are the group: "host", "rank", "input" or any
 * other, and "file", such as "host,input", at most STAGE_KEYS_MAX; borrowed; NULL: all is one
 * group. NULL: out of memory. */
struct stage_reader *stage_reader_new(const char *keys) MUST_CHECK;
void stage_reader_set_file(struct stage_reader *r,
			   const char *path);   /* of what follows; borrowed */
void stage_reader_free(struct stage_reader *r); /* NULL is allowed */

/*
 * line[len] must be readable: a NUL or LF. 1: a report, *ret borrows from line and reader until
 * the next call; its name is that of the input, if it has one. 0: JSON without a report. -EINVAL:
 * "column N: reason". -ENOMEM.
 */
int stage_reader_read(struct stage_reader *r, const char *line, size_t len,
		      struct stage_record *ret, struct err *e) MUST_CHECK;

/* -EINVAL, with the members that there are, when no record had one of the keys. */
int stage_reader_check_keys(const struct stage_reader *r, struct err *e) MUST_CHECK;

#endif
