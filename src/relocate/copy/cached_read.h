/* SPDX-License-Identifier: MIT */
/*
 * cached_read: reads what the page cache has of a file whose storage hangs.
 *
 * Nothing is opened: a descriptor of the job that can be read is duplicated, or its mappings are
 * read as memory. Reading a page that is in memory does not ask storage. The kernel may do so all
 * the same, so a thread does the work, which may be abandoned.
 *
 * Source: pidfd_getfd(2), mincore(2), proc(5) on pagemap.
 */
#ifndef RELOCATE_COPY_CACHED_READ_H
#define RELOCATE_COPY_CACHED_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/inventory.h"

/* What was found of a file. */
struct cached {
	uint64_t bytes; /* in memory, without what is behind the end of the file */
	bool hangs;     /* reading it asked storage, which does not answer */
};

/* Copies what is in memory of s->files[file], a regular file, to the descriptor out (-1: only
 * counts). until_ns: of CLOCK_MONOTONIC. Fails when out cannot be written. */
int cached_read(const struct reloc_inventory *s, uint32_t file, int out, int64_t until_ns,
		struct cached *ret, struct err *e) MUST_CHECK;

#endif
