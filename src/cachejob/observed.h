/* SPDX-License-Identifier: MIT */
/*
 * observed: what a job's own record says of each path: was it there, and was it a folder?
 *
 * Nothing is looked up: a file system may have changed since, or be another one.
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
	OBSERVED_PRESENT = 1, /* it was there at least once */
	OBSERVED_FOLDER = 2,  /* it was listed, or something in it was there */
	OBSERVED_SEEN = 4,    /* the walk of a root has found it; see coverage */
	OBSERVED_APART = 8,   /* it is where that walk did not get to */
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

/* Is path, or does it lie below, root (no '/' at its end but "/" itself)? */
bool path_is_within(struct str path, const char *root);

/*
 * The folders that a job's programs were installed in, as the paths tell: environments of conda,
 * virtual environments, prefixes of a Python, folders of packages. And those that the user names,
 * made absolute by the working directory; where nothing was observed below one, it is where its
 * links lead. One within another is left out. ret: const char * each, in order; both from an empty
 * array and an empty table that owns the texts.
 */
int observed_roots(const struct observed *o, const char *const *named, size_t count,
		   struct strtab *texts, struct rows *ret, struct err *e) MUST_CHECK;

#endif
