/* SPDX-License-Identifier: MIT */
/* path_sums: the requests of many paths, summed by path class and by Python package. */
#ifndef CACHEFS_PROFILE_PATH_SUMS_H
#define CACHEFS_PROFILE_PATH_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "cachefs/profile/classes.h"
#include "cachefs/profile/decimal.h"

struct path_sum {
	const char *name;      /* of the class or package; borrowed */
	size_t entries;        /* paths, counted once in each category */
	struct decimal events; /* of all categories */
	struct decimal data;   /* of them: reads */
	struct decimal absent; /* of them: of paths that did not exist */
	size_t example;        /* index of the path with most events, in the caller's list */
	int64_t example_events;
};

struct path_sums {
	struct strtab *names; /* of packages; NULL: none */
	struct rows classes;  /* struct path_sum */
	struct rows packages; /* struct path_sum */
};

/* Adds an empty sum for each class, so that a class id is an index of s->classes. 0 or -ENOMEM. */
int path_sums_add_classes(struct path_sums *s, const struct classes *classes) MUST_CHECK;
/* Puts most events first, and removes classes without any. */
void path_sums_sort(struct path_sums *s);
void path_sums_fini(struct path_sums *s);

/* Events of a class; 0: none. */
int64_t path_sums_events(const struct path_sums *s, const char *class);

#endif
