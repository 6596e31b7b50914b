/* SPDX-License-Identifier: MIT */
/*
 * rawfile: writes the kernel's records as a perf.data file, for perf report and others.
 *
 * The file has a temporary name until it is complete. Records are written unchanged; each has the
 * id of its event (PERF_SAMPLE_IDENTIFIER). Synthesized records describe what ran before. Source:
 * perf.data-file-format.txt of the kernel's tools/perf/Documentation, 6.18.
 */
#ifndef SAMPLE_RAWFILE_H
#define SAMPLE_RAWFILE_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "perf/record.h"

/* An event of the file, and the ids of its records. */
struct rawfile_event {
	const char *name;
	struct perf_event_attr attr;
	const uint64_t *ids; /* [id_count]; borrowed */
	size_t id_count;
};

struct rawfile;

/* Fails when no file can be created beside path, or path is not a regular file. */
int rawfile_open(const char *path, struct rawfile **ret, struct err *e) MUST_CHECK;

/* Appends a record of the kernel, of an event without build ids; or a synthesized one. id_bytes:
 * length of the id at its end, which is zero. The rawfile remembers failure. */
void rawfile_put(struct rawfile *r, const unsigned char *bytes, size_t len);
void rawfile_put_synthesized(struct rawfile *r, const struct record *record, size_t id_bytes);

/* PERF_RECORD_FINISHED_ROUND: readers may sort and flush all records so far. */
void rawfile_end_round(struct rawfile *r);

/* Completes the file. argv: the recorded command (ends with NULL; may be NULL). Returns the first
 * failure of all calls; then there is no file. */
int rawfile_finish(struct rawfile *r, const struct rawfile_event *events, size_t event_count,
		   char *const *argv, struct err *e) MUST_CHECK;

/* Removes an unfinished file. */
void rawfile_free(struct rawfile *r);

#endif
