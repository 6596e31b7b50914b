/* SPDX-License-Identifier: MIT */
/*
 * attrs: owner, mode, times, extended attributes and ACLs of a file, copied or saved.
 *
 * The caller runs as root, or owns the files. Attributes that belong to a storage or to the
 * machine (NFSv4 ACLs, Lustre layouts, SELinux labels) are not copied.
 *
 * Source: xattr(7), utimensat(2).
 */
#ifndef RELOCATE_COPY_ATTRS_H
#define RELOCATE_COPY_ATTRS_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

/* The same file in OLD and in NEW: descriptors, O_PATH where a function allows it. */
struct file_pair {
	int from, to;
};

/* Makes all attributes of pair->to those of pair->from, whose statx is x. Both may be O_PATH. */
int attrs_copy(const struct file_pair *pair, const struct statx *x, struct err *e) MUST_CHECK;

/* Appends the extended attributes of an open directory to ret. */
int attrs_save(int dir, struct buf *ret, struct err *e) MUST_CHECK;
/* Makes the extended attributes of dir the saved ones. */
int attrs_restore(int dir, const struct buf *saved, struct err *e) MUST_CHECK;

/* Sets access and modification time; to may be O_PATH. 0, or -1 with errno. */
int attrs_set_times(int to, const struct statx *x);

#endif
