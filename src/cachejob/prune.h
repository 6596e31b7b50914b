/* SPDX-License-Identifier: MIT */
/*
 * prune: writes a shell script that copies the used part of an inventory by hard links.
 *
 * The user reads the script before running it. Its argument is a new folder, which it makes, and
 * below which each path keeps its full name. It stops at the first path that exists. Paths are
 * quoted, whatever their bytes, and cannot become options.
 */
#ifndef CACHEJOB_PRUNE_H
#define CACHEJOB_PRUNE_H

#include "base/buf.h"
#include "cachejob/inventory.h"

/* job: the folder as the user named it. The buf remembers a failure. */
void prune_put_script(const struct inventory *v, const char *job, struct buf *out);

#endif
