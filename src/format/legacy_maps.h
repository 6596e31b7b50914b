/* SPDX-License-Identifier: MIT */
/*
 * legacy_maps: the mapped files that a legacy profile of pprof lists after its samples.
 *
 * A line is one of /proc/PID/maps or "start-end: path (@offset) build_id", of which path, offset
 * and build id may lack; "name=value" defines $name in paths.
 */
#ifndef FORMAT_LEGACY_MAPS_H
#define FORMAT_LEGACY_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "model/profile.h"

/* All zero is empty. */
struct legacy_maps {
	struct rows ranges; /* struct range, by start */
};

void legacy_maps_fini(struct legacy_maps *maps);

/* Adds a mapping for each line of code; lines that are no maps are skipped, as the peers do. */
int legacy_maps_read(struct legacy_maps *maps, struct profile *p, struct cursor text,
		     struct err *e) MUST_CHECK;

/* The mapping of an address, 0: none. */
uint32_t legacy_maps_find(const struct legacy_maps *maps, uint64_t address);

#endif
