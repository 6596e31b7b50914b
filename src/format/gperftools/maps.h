/* SPDX-License-Identifier: MIT */
/*
 * gperftools_maps: the mapped files that a legacy CPU profile lists after its records.
 *
 * A line is one of /proc/PID/maps or "start-end: path"; "build=DIR" defines $build in paths.
 */
#ifndef FORMAT_GPERFTOOLS_MAPS_H
#define FORMAT_GPERFTOOLS_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "model/profile.h"

/* All zero is empty. */
struct gperftools_maps {
	struct rows ranges; /* struct range, by start */
};

void gperftools_maps_fini(struct gperftools_maps *maps);

/* Adds a mapping for each line of code; lines that are no maps are skipped, as the peers do. */
int gperftools_maps_read(struct gperftools_maps *maps, struct profile *p, struct cursor text,
			 struct err *e) MUST_CHECK;

/* The mapping of an address, 0: none. */
uint32_t gperftools_maps_find(const struct gperftools_maps *maps, uint64_t address);

#endif
