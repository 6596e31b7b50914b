/* SPDX-License-Identifier: MIT */
/*
 * inventory: lists what is installed below some roots: the paths that a job used and those it did
 * not; and paths that the job never found, or that no longer exist.
 *
 * Source: the lists of Copper's path_usage_analysis. That script looks used paths up in the file
 * system; this module takes them from the job's record.
 */
#ifndef CACHEJOB_INVENTORY_H
#define CACHEJOB_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "cachejob/observed.h"

struct inventory_entry {
	struct str path; /* borrowed from the inventory */
	bool is_folder;
	bool is_used; /* exists, and is in the record */
};

struct inventory {
	struct strtab *texts;
	struct rows entries;       /* struct inventory_entry: what exists, by path */
	struct rows missing, gone; /* struct inventory_entry: of the record, by path */
	struct rows roots;         /* struct coverage_root */
};

enum inventory_list {
	INVENTORY_ALL,
	INVENTORY_USED,
	INVENTORY_UNUSED,
	INVENTORY_MISSING,
	INVENTORY_GONE,
	INVENTORY_LISTS,
};
extern const char *const inventory_files[INVENTORY_LISTS];    /* file names, Copper's */
extern const char *const inventory_meanings[INVENTORY_LISTS]; /* headings */

struct inventory_counts {
	size_t total, files, folders;
	size_t unlisted; /* with a newline in their name */
};

/* roots: const char * each. o and roots are borrowed for the life of the inventory. */
int inventory_make(struct inventory *ret, struct observed *o, const struct rows *roots,
		   struct err *e) MUST_CHECK;
void inventory_fini(struct inventory *v);

struct inventory_counts inventory_count(const struct inventory *v, enum inventory_list list);

/* Appends one path a line, without paths that contain a newline. */
void inventory_put(const struct inventory *v, enum inventory_list list, struct buf *out);

/* The next entry of the list at or after *at; NULL: none. */
const struct inventory_entry *inventory_next(const struct inventory *v, enum inventory_list list,
					     size_t *at);

/* Append roots_and_counts.txt and paths_summary.md. tables, folder: the folders of the tables and
 * of the lists. packages: struct package_usage. */
void inventory_put_notes(const struct inventory *v, const char *job, struct buf *out);
void inventory_put_summary(const struct inventory *v, const struct rows *packages, const char *job,
			   const char *tables, const char *folder, struct buf *out);

#endif
