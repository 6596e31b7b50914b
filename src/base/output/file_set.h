/* SPDX-License-Identifier: MIT */
/*
 * file_set: several files that are replaced together: all of them, or, as on a full disk, none.
 *
 * Each is written and synced beside its place first. What can fail between the renames then is the
 * file system itself.
 */
#ifndef BASE_OUTPUT_FILE_SET_H
#define BASE_OUTPUT_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"

/* All zero: empty. */
struct file_set {
	struct rows files;
};

/* is_new: as outfile_create; else as outfile_replace. What is not a regular file is written here.
 */
int file_set_add(struct file_set *s, const char *path, bool is_new, const void *bytes, size_t len,
		 struct err *e) MUST_CHECK;

/* Puts them all in their places: new ones first, so that one that is there already stops all. */
int file_set_move(struct file_set *s, struct err *e) MUST_CHECK;

void file_set_fini(struct file_set *s); /* what is not in its place is removed */

#endif
