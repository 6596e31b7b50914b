/* SPDX-License-Identifier: MIT */
/*
 * rawfile: the kernel's records as a perf.data file, for perf report and others.
 *
 * The file is made under a temporary name, and has its own when it is complete. Records are
 * written as they are; each tells the event that it is of (PERF_SAMPLE_IDENTIFIER). What ran
 * before is told by records of ours.
 * Source: perf.data-file-format.txt of the kernel's tools/perf/Documentation, 6.18.
 */
#ifndef SAMPLE_RAWFILE_H
#define SAMPLE_RAWFILE_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "perf/record.h"

/* An event of the file, and the ids by which its records name it. */
struct rawfile_event {
	const char *name;
	struct perf_event_attr attr;
	const uint64_t *ids; /* [id_count]; borrowed */
	size_t id_count;
};

struct rawfile;

/* Fails when no file can be made beside path, or path is something else than a file. */
int rawfile_open(const char *path, struct rawfile **ret, struct err *e) MUST_CHECK;

/* A record as the kernel wrote it, of an event that asked for no build ids; one that it might
 * have written. id_bytes: of the id that records end with, which is zero. A failure is
 * remembered. */
void rawfile_put(struct rawfile *r, const unsigned char *bytes, size_t len);
void rawfile_put_synthesized(struct rawfile *r, const struct record *told, size_t id_bytes);

/* All before was written before all behind: readers need not keep it to put it in order. */
void rawfile_end_round(struct rawfile *r);

/* Makes the file complete, with the command that recorded it (ends with NULL; may be NULL).
 * Fails with the first failure of all; then there is no file. */
int rawfile_finish(struct rawfile *r, const struct rawfile_event *events, size_t event_count,
		   char *const *argv, struct err *e) MUST_CHECK;

/* What was not finished is removed. */
void rawfile_free(struct rawfile *r);

#endif
