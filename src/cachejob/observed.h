/* SPDX-License-Identifier: MIT */
/*
 * observed: reports from a job's record whether each path existed, and was a folder.
 *
 * It reads no file system, which may have changed since, or be another one.
 */
#ifndef CACHEJOB_OBSERVED_H
#define CACHEJOB_OBSERVED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "cachejob/cluster.h"

enum observed_flag {
	OBSERVED_PRESENT = 1,   /* it existed at least once */
	OBSERVED_FOLDER = 2,    /* it was listed, or a path below it existed */
	OBSERVED_SEEN = 4,      /* the walk of a root found it; see coverage */
	OBSERVED_UNREACHED = 8, /* it is where that walk did not get to */
};

struct observed {
	const struct cluster *cluster;
	uint8_t *flags; /* [strtab_count(cluster->paths)] of enum observed_flag; owned */
};

/* c is borrowed. -ENOMEM. */
int observed_make(struct observed *ret, const struct cluster *c, struct err *e) MUST_CHECK;
void observed_fini(struct observed *o);

/* The id of a path; STRTAB_NONE: it was not observed. */
uint32_t observed_find(const struct observed *o, const char *path, size_t len);

/* Is path equal to root or below it? root has no '/' at its end, unless it is "/". */
bool path_is_within(struct str path, const char *root);

/*
 * Finds the environments in the observed paths: conda environments, virtual environments, prefixes
 * of a Python, package folders. Adds the folders that the user names, made absolute; if none of its
 * paths was observed, a named folder's links are resolved. Leaves out folders within another. ret:
 * const char * each, sorted. ret and texts, which owns the strings, are empty before.
 */
int observed_roots(const struct observed *o, const char *const *named, size_t count,
		   struct strtab *texts, struct rows *ret, struct err *e) MUST_CHECK;

#endif
