/* SPDX-License-Identifier: MIT */
/*
 * run_folder: a folder that the ranks of one launch share, without talking to each other.
 *
 * The file ".run" in it has the id of the launch. It is created whole or not at all, by whichever
 * rank comes first; who finds another id there takes the next name. No lock is needed, on any
 * file system.
 */
#ifndef SOURCE_RUN_FOLDER_H
#define SOURCE_RUN_FOLDER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "job/place.h"

/*
 * Appends what all ranks of a launch have in common, and no other launch: the launcher's name for
 * it, else job, step and how often it was started, and on one node the process that launched all.
 * Nothing: none is known (hydra over several nodes without a resource manager).
 */
void run_put_id(const struct job_place *place, struct buf *ret);

/* Makes the folder path, or the first of path-2, path-3, ... that is not of another launch;
 * path becomes its name. is_named: by the user, who may name a link, and another user's folder in a
 * sticky one that others may write to. run: NULL: whatever the folder is of. */
int run_folder_make(struct buf *path, bool is_named, const struct buf *run,
		    struct err *e) MUST_CHECK;

#endif
