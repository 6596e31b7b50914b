/* SPDX-License-Identifier: MIT */
/*
 * scripts: stacks of a heap file with the functions of a script (Python) in place of the
 * evaluation loops that run them (interp/merge.h).
 */
#ifndef HEAP_SCRIPTS_H
#define HEAP_SCRIPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/rows.h"
#include "heap/image.h"
#include "model/profile.h"

struct scripts {
	struct profile *profile;        /* borrowed, as what follows */
	const struct heap_image *image; /* where is_script nodes are */
	const uint32_t *natives;        /* [node_count]: locations of the others */
	struct rows files;              /* struct python_file_info *, of mappings; owned */
	struct map by_mapping;          /* number: its index */
	struct rows kinds, nodes, frames, items;
	bool is_bad; /* memory ran out */
};

/* Is the innermost frame of this node a function of a script? */
bool scripts_has(const struct heap_image *h, uint32_t node);

/* The stack of such a node, in the profile. */
uint32_t scripts_push(struct scripts *s, uint32_t node);
void scripts_fini(struct scripts *s);

#endif
