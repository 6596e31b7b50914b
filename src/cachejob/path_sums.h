/* SPDX-License-Identifier: MIT */
/* path_sums: the paths of a cluster by class, and those of Python's packages by package. */
#ifndef CACHEJOB_PATH_SUMS_H
#define CACHEJOB_PATH_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/strtab.h"
#include "cachefs/profile/classes.h"
#include "cachejob/cluster.h"

struct path_sum {
	const char *name;     /* of the class or package; borrowed */
	size_t entries;       /* paths, once in each category */
	struct figure events; /* of all categories, */
	struct figure data;   /* of reading, */
	struct figure absent; /* and of paths that were not there */
	size_t example;       /* index of the cluster's path with most events */
	int64_t example_events;
};

struct path_sums {
	struct strtab *names; /* of packages */
	struct rows classes;  /* struct path_sum, most events first */
	struct rows packages; /* likewise */
};

/* c and classes are borrowed for the life of the sums. -ENOMEM. */
int path_sums_make(struct path_sums *ret, const struct cluster *c, const struct classes *classes,
		   struct err *e) MUST_CHECK;
void path_sums_fini(struct path_sums *s);

/* Events of a class; 0: none. */
int64_t path_sums_events(const struct path_sums *s, const char *class);

/* Was it looked for and never there? */
bool path_is_absent(const struct cluster_path *p);

/* The package that a path is of, "numpy" of ".../site-packages/numpy/core"; len 0: of none. */
struct str path_package(struct str path);

#endif
