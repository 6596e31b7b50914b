/* SPDX-License-Identifier: MIT */
/*
 * mark: a file in NEW that tells of the move into it, should auger be killed.
 *
 * It is there from before the first copy until after the commit. Lines of text, each written at
 * once; the later one counts. Only a mark that is ours (owner, mode, one name) is believed.
 *
 * Source: ../shared/spec/relocate.md 2.10.
 */
#ifndef RELOCATE_COPY_MARK_H
#define RELOCATE_COPY_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "relocate/inventory/survey.h"

/* Flags of an inode (chattr) and its project; 0 where the file system has none. */
struct tree_flags {
	uint32_t flags, project;
};

#define MARK_NAME ".auger-relocate" /* files without a name have it, too, with numbers behind */

struct mark_process {
	pid_t pid;
	uint64_t start_ticks;
};

struct mark {
	struct mark_process maker; /* the newest auger */
	char *old_path;            /* control characters became '?'; owned */
	uint32_t old_dev_major, old_dev_minor;
	uint64_t old_ino;
	bool was_made;           /* NEW was not there before */
	bool had_lost_found;     /* NEW was not empty for that; it was */
	struct statx top;        /* of NEW before: owner, mode, times */
	struct tree_flags flags; /* of NEW before */
	struct buf attrs;        /* of NEW before, as tree_save_attrs() has them */
	bool is_moving;          /* job may be on NEW */
	struct rows job;         /* struct mark_process */
};

void mark_fini(struct mark *m);

/* Owner, mode, times and attributes of NEW as they are, OLD and this process. */
int mark_fill(struct mark *ret, const struct reloc_place *old_place,
	      const struct reloc_place *new_place, struct err *e) MUST_CHECK;

/* Puts it into NEW, which has none. */
int mark_write(const struct mark *m, const struct reloc_place *new_place, struct err *e) MUST_CHECK;
/* NEW's own. -ENOENT: there is none. */
int mark_read(struct mark *ret, const struct reloc_place *new_place, struct err *e) MUST_CHECK;
/* This process goes on with it. */
int mark_take_over(const struct reloc_place *new_place, struct err *e) MUST_CHECK;
/* From now on the job of s may be on NEW. */
int mark_move(const struct reloc_place *new_place, const struct survey *s,
	      struct err *e) MUST_CHECK;
int mark_remove(const struct reloc_place *new_place, struct err *e) MUST_CHECK;

/* NEW's top as it was before; or it was made, and goes. */
int mark_put_back(const struct mark *m, const struct reloc_place *new_place,
		  struct err *e) MUST_CHECK;

bool mark_is_from(const struct mark *m, const struct reloc_place *old_place);
bool mark_is_alive(const struct mark_process *p);

#endif
