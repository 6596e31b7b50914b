/* SPDX-License-Identifier: MIT */
/*
 * bodies: what storage replies with, as attributes and bodies of the overlay's messages.
 *
 * st_dev is the identity's fs (shared.h names it), st_ino its ino; so struct stat and struct
 * file_attr say the same. Bodies come from other nodes: readers check everything.
 *
 * A listing begins with an entry ".", whose rdev is 1 when the folder may have more names than it
 * lists (UNLISTED_ANY), and an entry "..". An entry without links has only its number and type.
 */
#ifndef CACHEFS_OVERLAY_BODIES_H
#define CACHEFS_OVERLAY_BODIES_H

#include <sys/stat.h>

#include "cachefs/store/dirlist.h"
#include "cluster/wire.h"

struct file_identity identity_of(const struct stat *st);
struct file_attr attr_of(const struct stat *st);
struct stat stat_of(const struct file_attr *attr);
/* With these of its members only: st_dev, st_ino, st_ctim, st_size. */
struct stat stat_of_identity(const struct file_identity *identity);

/* Attributes of names of a listing; all zero: none. */
struct listing_attrs {
	struct stat *attrs; /* [count]; owned */
	int *codes;         /* [count]: 0, or attrs has not this one; owned */
	size_t count;       /* of names, from the first on */
};
int listing_attrs_init(struct listing_attrs *l, size_t count) MUST_CHECK; /* all codes: -ENOENT */
void listing_attrs_fini(struct listing_attrs *l);

/* attrs may be of fewer names. 0, -E2BIG: it does not fit in a message; -ENOMEM. */
int listing_write(const struct dirlist *l, const struct listing_attrs *attrs,
		  struct buf *out) MUST_CHECK;
/* 0, -EPROTO or -ENOMEM. The caller owns both. */
int listing_read(const void *bytes, size_t len, struct dirlist **ret,
		 struct listing_attrs *ret_attrs) MUST_CHECK;

/*
 * Extended attributes: the value of name, or, when name is NULL, all names, each followed by a NUL.
 * 0, -ENODATA, -EPROTO or -ENOMEM.
 */
int xattrs_read(const void *bytes, size_t len, const char *name, struct buf *ret) MUST_CHECK;

#endif
