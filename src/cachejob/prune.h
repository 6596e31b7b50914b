/* SPDX-License-Identifier: MIT */
/*
 * prune: a script of sh that builds a copy of the used part of an inventory by hard links.
 *
 * It is for people to read first. It takes the new folder as its argument, makes it, and stops at
 * whatever is there already; what it makes is below it at its whole path. Paths are quoted,
 * whatever they hold, and are never options.
 */
#ifndef CACHEJOB_PRUNE_H
#define CACHEJOB_PRUNE_H

#include "base/buf.h"
#include "cachejob/inventory.h"

/* job: as the user named it. Failure is remembered in the buf. */
void prune_put_script(const struct inventory *v, const char *job, struct buf *out);

#endif
