/* SPDX-License-Identifier: MIT */
/*
 * maps: the executable mappings of one process at one time.
 *
 * Mappings are sorted by address and disjoint: a new mapping cuts the old ones that it overlaps.
 * perf records no munmap, so this is also how unmapping shows. The child of a fork shares the maps
 * of its parent until one of them changes.
 */
#ifndef PERF_MAPS_H
#define PERF_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "unwind/walk.h"

struct vma {
	uint64_t start, end; /* addresses in the process, [start..end) */
	uint64_t offset;     /* in the file, of start */
	uint32_t dso;        /* id, of dso.h */
	const struct unwind_rule
		*rule; /* of all of its code, which are trampolines; NULL: none; static */
};

struct maps;

/* versions: the counter that all maps of one recording draw from; must outlive them. NULL:
 * out of memory. The caller has one reference. */
struct maps *maps_new(uint64_t *versions) MUST_CHECK;
struct maps *maps_ref(struct maps *m);
void maps_unref(struct maps *m); /* NULL is allowed */

/*
 * Adds a mapping. *m is replaced by a copy when others refer to it. An empty mapping is
 * none. 0 or -ENOMEM, then *m is as it was.
 */
int maps_add(struct maps **m, const struct vma *v) MUST_CHECK;

/* The mapping that holds address, or NULL. Borrowed until the next maps_add. */
const struct vma *maps_find(struct maps *m, uint64_t address);

/*
 * What was found once in maps of this version is found there for good; what was not found
 * may be there later. No two different maps have a version in common.
 */
uint64_t maps_version(const struct maps *m);

/* The same mappings for the unwinder: [count of space] of maps belong to those of vmas. */
struct maps_view {
	struct unwind_space space;
	struct unwind_map *maps; /* [cap]; owned */
	size_t cap;
	uint64_t made_for; /* a number of the owner's; 0 after each change of the mappings */
};

struct maps_view *maps_view(struct maps *m);

size_t maps_count(const struct maps *m);
const struct vma *maps_get(const struct maps *m, size_t i); /* ascending */

#endif
