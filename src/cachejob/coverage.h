/* SPDX-License-Identifier: MIT */
/*
 * coverage: how much of what is installed a job has used.
 *
 * The used paths are those of the job's record; the installed ones are found now, by a walk of each
 * root. A used path that no longer exists is gone; a path that the job never found is missing.
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
	bool exists;                             /* now; else files and folders are 0 */
	size_t unread;                           /* folders that could not be walked */
	size_t files, folders;                   /* below it */
	size_t observed;                         /* paths of the record, with the root itself */
	size_t observed_files, observed_folders; /* of them: exist now, below it */
	size_t missing;                          /* looked up, never found */
	size_t gone;                             /* found by the job, do not exist now */
	size_t unreached; /* found by the job, exist where the walk does not go */
	uint32_t example; /* the first observed path; STRTAB_NONE: none */
};

/* Called for each path that the walk finds. */
typedef int coverage_found(void *context, const char *path, size_t len, bool is_folder,
			   bool is_used, struct err *e);

/* roots: const char * each, from observed_roots(). Appends struct coverage_root to ret, and sets
 * flags of o's paths. found: NULL: none. */
int coverage_make(struct observed *o, const struct rows *roots, coverage_found *found,
		  void *context, struct rows *ret, struct err *e) MUST_CHECK;

/* "12.34%", or "n/a" when the whole is 0. */
void coverage_put_share(struct buf *out, size_t part, size_t whole);

/* Appends the section of the cluster's summary, if there are roots (struct coverage_root). */
void coverage_put_summary(struct buf *out, const struct cluster *c, const struct rows *roots);

#endif
