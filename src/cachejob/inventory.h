/* SPDX-License-Identifier: MIT */
/*
 * inventory: what there is below some roots, and which of it a job has used; what it looked for in
 * vain, and what is gone since.
 *
 * Source: the lists of Copper's path_usage_analysis, which asks the file system where ours asks the
 * record.
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
	bool is_used; /* there now, and in the record */
};

struct inventory {
	struct strtab *texts;
	struct rows entries;       /* struct inventory_entry of what there is, in order of paths */
	struct rows missing, gone; /* likewise, of the record */
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
extern const char *const inventory_files[INVENTORY_LISTS];    /* names, as Copper's */
extern const char *const inventory_meanings[INVENTORY_LISTS]; /* a heading for people */

struct inventory_counts {
	size_t total, files, folders;
	size_t unlisted; /* with a line end in their name */
};

/* roots: const char * each; o and they are borrowed for the life of the inventory. */
int inventory_make(struct inventory *ret, struct observed *o, const struct rows *roots,
		   struct err *e) MUST_CHECK;
void inventory_fini(struct inventory *v);

struct inventory_counts inventory_count(const struct inventory *v, enum inventory_list list);

/* Appends a path a line. Paths with a line end are left out: they would be read as others. */
void inventory_put(const struct inventory *v, enum inventory_list list, struct buf *out);

/* The next entry of the list at or behind *at; NULL: none. */
const struct inventory_entry *inventory_next(const struct inventory *v, enum inventory_list list,
					     size_t *at);

/* roots_and_counts.txt and paths_summary.md. tables, folder: where the tables and the lists are;
 * packages: struct package_usage. */
void inventory_put_notes(const struct inventory *v, const char *job, struct buf *out);
void inventory_put_summary(const struct inventory *v, const struct rows *packages, const char *job,
			   const char *tables, const char *folder, struct buf *out);

#endif
