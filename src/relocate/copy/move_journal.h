/* SPDX-License-Identifier: MIT */
/*
 * move_journal: a file in NEW that records a move into it, for the next run if auger is killed.
 *
 * It exists from the first copied byte until after the commit. Each state is a line of text that
 * one write(2) appends; the last line counts. A file with another owner, other permissions or a
 * second name is ignored, because users may write to NEW.
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

#define MOVE_JOURNAL_NAME ".auger-relocate" /* also the prefix of hidden names */

struct move_journal_process {
	pid_t pid;
	uint64_t start_ticks;
};

struct move_journal {
	struct move_journal_process maker; /* the last auger that worked on it */
	char *old_path;                    /* control characters became '?'; owned */
	uint32_t old_dev_major, old_dev_minor;
	uint64_t old_ino;
	bool was_made;            /* the move created NEW */
	bool had_lost_found;      /* NEW had only lost+found */
	struct statx top;         /* of NEW before the move: owner, mode, times */
	struct inode_flags flags; /* of NEW before the move */
	struct buf attrs;         /* of NEW before the move, by attrs_save() */
	bool is_moving;           /* the job may be on NEW */
	struct rows job;          /* struct move_journal_process */
};

void move_journal_fini(struct move_journal *m);

/* Fills in the state of NEW, OLD and this process. */
int move_journal_fill(struct move_journal *ret, const struct top_dir *old_dir,
		      const struct top_dir *new_dir, struct err *e) MUST_CHECK;

/* Creates the file in NEW. */
int move_journal_create(const struct move_journal *m, const struct top_dir *new_dir,
			struct err *e) MUST_CHECK;
/* Reads the file of NEW. -ENOENT: there is none. */
int move_journal_read(struct move_journal *ret, const struct top_dir *new_dir,
		      struct err *e) MUST_CHECK;
/* Records that this process continues the copy. */
int move_journal_take_over(const struct top_dir *new_dir, struct err *e) MUST_CHECK;
/* Records that the job of s may be on NEW from now on. */
int move_journal_set_moving(const struct top_dir *new_dir, const struct reloc_inventory *s,
			    struct err *e) MUST_CHECK;
int move_journal_remove(const struct top_dir *new_dir, struct err *e) MUST_CHECK;

/* Restores the top directory of NEW, or removes it if the move created it. */
int move_journal_restore_top(const struct move_journal *m, const struct top_dir *new_dir,
			     struct err *e) MUST_CHECK;

bool move_journal_is_from(const struct move_journal *m, const struct top_dir *old_dir);
bool move_journal_process_is_alive(const struct move_journal_process *p);

#endif
