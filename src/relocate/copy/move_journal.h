/* SPDX-License-Identifier: MIT */
/*
 * mark: a file in NEW that tells of the move into it, should auger be killed.
 *
 * It is there from before the first copy until after the commit. Lines of text, each written at
 * once; the later one counts. Only a mark that is ours (owner, mode, one name) is believed.
 *
 * Source: ../shared/spec/relocate.md 2.10.
 */
#ifndef RELOCATE_COPY_MOVE_JOURNAL_H
#define RELOCATE_COPY_MOVE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "relocate/copy/inode_flags.h"
#include "relocate/inventory/inventory.h"
#include "relocate/inventory/top_dir.h"

#define MOVE_JOURNAL_NAME                                                           \
	".auger-relocate" /* files without a name have it, too, with numbers behind \
			   */

struct move_journal_process {
	pid_t pid;
	uint64_t start_ticks;
};

struct move_journal {
	struct move_journal_process maker; /* the newest auger */
	char *old_path;                    /* control characters became '?'; owned */
	uint32_t old_dev_major, old_dev_minor;
	uint64_t old_ino;
	bool was_made;            /* NEW was not there before */
	bool had_lost_found;      /* NEW was not empty for that; it was */
	struct statx top;         /* of NEW before: owner, mode, times */
	struct inode_flags flags; /* of NEW before */
	struct buf attrs;         /* of NEW before, as attrs_save() has them */
	bool is_moving;           /* job may be on NEW */
	struct rows job;          /* struct move_journal_process */
};

void move_journal_fini(struct move_journal *m);

/* Owner, mode, times and attributes of NEW as they are, OLD and this process. */
int move_journal_fill(struct move_journal *ret, const struct top_dir *old_dir,
		      const struct top_dir *new_dir, struct err *e) MUST_CHECK;

/* Puts it into NEW, which has none. */
int move_journal_create(const struct move_journal *m, const struct top_dir *new_dir,
			struct err *e) MUST_CHECK;
/* NEW's own. -ENOENT: there is none. */
int move_journal_read(struct move_journal *ret, const struct top_dir *new_dir,
		      struct err *e) MUST_CHECK;
/* This process goes on with it. */
int move_journal_take_over(const struct top_dir *new_dir, struct err *e) MUST_CHECK;
/* From now on the job of s may be on NEW. */
int move_journal_set_moving(const struct top_dir *new_dir, const struct reloc_inventory *s,
			    struct err *e) MUST_CHECK;
int move_journal_remove(const struct top_dir *new_dir, struct err *e) MUST_CHECK;

/* NEW's top as it was before; or it was made, and goes. */
int move_journal_restore_top(const struct move_journal *m, const struct top_dir *new_dir,
			     struct err *e) MUST_CHECK;

bool move_journal_is_from(const struct move_journal *m, const struct top_dir *old_dir);
bool move_journal_process_is_alive(const struct move_journal_process *p);

#endif
