/* SPDX-License-Identifier: MIT */
/*
 * dirlist: all names of a folder except "." and "..", in byte order.
 *
 * One owner fills it and then seals it. A sealed listing never changes and is reference-counted.
 */
#ifndef CACHEFS_STORE_DIRLIST_H
#define CACHEFS_STORE_DIRLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct dirlist_entry {
	const char *name; /* [len], NUL-terminated; borrowed from the listing */
	size_t len;
	uint64_t ino;
	unsigned char dtype; /* DT_REG, DT_DIR, ...; DT_UNKNOWN is allowed */
};

struct dirlist;

struct dirlist *dirlist_new(void) MUST_CHECK; /* one reference; NULL: out of memory */
struct dirlist *dirlist_ref(struct dirlist *l);
void dirlist_unref(struct dirlist *l); /* NULL is allowed */

/* 0, -ENOMEM, or -EOVERFLOW: a name of 64 KiB or more, or names of 4 GiB or more. */
int dirlist_add(struct dirlist *l, const char *name, uint64_t ino, unsigned char dtype) MUST_CHECK;
/* The inode numbers of "." (index 0) and ".."; 0: not known. */
void dirlist_set_dot(struct dirlist *l, size_t index, uint64_t ino);
uint64_t dirlist_dot(const struct dirlist *l, size_t index);
/* Names that the folder has although they are not listed. */
enum dirlist_unlisted {
	UNLISTED_DOT, /* that begin with '.', such as .snapshot */
	UNLISTED_ANY,
};
void dirlist_set_unlisted(struct dirlist *l, enum dirlist_unlisted unlisted);
enum dirlist_unlisted dirlist_unlisted_names(const struct dirlist *l);
void dirlist_seal(struct dirlist *l);

size_t dirlist_count(const struct dirlist *l);
struct dirlist_entry dirlist_get(const struct dirlist *l, size_t i); /* i < count */
const char *dirlist_name(const struct dirlist *l, size_t i);
/*
 * Writes entries [from..) in the kernel's layout, as many as fit. Entries 0 and 1 are dots, "." and
 * ".."; the listing follows. bytes: [size], aligned as by malloc. Returns the bytes used.
 * Source: linux/fuse.h, struct fuse_dirent. (fuse_add_direntry takes four times as long, measured.)
 */
size_t dirlist_write(const struct dirlist *l, const struct dirlist_entry dots[2], size_t from,
		     char *bytes, size_t size);
bool dirlist_has(const struct dirlist *l, const char *name); /* l is sealed */
/* Does l tell that there is no such name? */
bool dirlist_lacks(const struct dirlist *l, const char *name);
/* The index of the name, or -1. l is sealed. */
ptrdiff_t dirlist_find(const struct dirlist *l, const char *name);
size_t dirlist_bytes(const struct dirlist *l); /* of memory */

#endif
