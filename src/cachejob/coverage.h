/* SPDX-License-Identifier: MIT */
/*
 * coverage: how much of what is installed a job has used.
 *
 * What was used is the job's own record; what there is, is found by a walk of each root now. A path
 * that was there then and is not now is gone, not a missing one.
 */
#ifndef CACHEJOB_COVERAGE_H
#define CACHEJOB_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "cachejob/observed.h"

struct coverage_root {
	const char *path;
	bool exists;                             /* now: only then files and folders are known */
	size_t unread;                           /* folders that could not be walked */
	size_t files, folders;                   /* below it */
	size_t observed;                         /* paths of the record, itself included, */
	size_t observed_files, observed_folders; /* of them below it, there now */
	size_t missing;                          /* looked for and never there */
	size_t gone;                             /* there in the run, not now */
	size_t apart;     /* there in the run, and now where the walk did not get to */
	uint32_t example; /* the first of the observed ones; STRTAB_NONE: none */
};

/* One entry that the walk has found. */
typedef int coverage_found(void *context, const char *path, size_t len, bool is_folder,
			   bool is_used, struct err *e);

/* roots: const char * each, as observed_roots() makes them. ret: struct coverage_root, from an
 * empty array. Marks o's paths. found: NULL, or called for each entry there is. */
int coverage_make(struct observed *o, const struct rows *roots, coverage_found *found,
		  void *context, struct rows *ret, struct err *e) MUST_CHECK;

/* "12.34%", or "n/a" of nothing. */
void coverage_put_share(struct buf *out, size_t part, size_t whole);

/* The section of the cluster's summary; nothing without roots. roots: struct coverage_root. */
void coverage_put_summary(struct buf *out, const struct cluster *c, const struct rows *roots);

#endif
