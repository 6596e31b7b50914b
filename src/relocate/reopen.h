/* SPDX-License-Identifier: MIT */
/*
 * reopen: finds programs of the job that open files again, by path, and check them.
 *
 * SQLite creates a rollback journal for each transaction, by path, and first compares the inode of
 * the database with the one that it opened: after a move it fails with SQLITE_READONLY_DBMOVED.
 * With a write-ahead log it does not; but each new connection opens the database by path, which
 * leads to OLD without --swap. This reads the first bytes of files that are open for writing.
 *
 * Source: sqlite.org, Database File Format, "The Database Header"; Result and Error Codes.
 */
#ifndef RELOCATE_REOPEN_H
#define RELOCATE_REOPEN_H

#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/inventory.h"
#include "relocate/inventory/top_dir.h"

/* Adds obstacles to s. swaps: the path of OLD will lead to NEW. -ENOMEM. */
int reopen_find(struct reloc_inventory *s, const struct top_dir *old_dir, bool swaps,
		struct err *e) MUST_CHECK;

#endif
