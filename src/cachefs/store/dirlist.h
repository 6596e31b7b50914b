/* SPDX-License-Identifier: MIT */
/*
 * dirlist: all names of a folder, in order of their bytes, without "." and "..".
 *
 * Filled by one owner, then sealed; a sealed listing never changes and is shared by counting.
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

/* 0, -ENOMEM, or -EOVERFLOW: a name of 64 KiB, or names of 4 GiB, and more. */
int dirlist_add(struct dirlist *l, const char *name, uint64_t ino, unsigned char dtype) MUST_CHECK;
void dirlist_seal(struct dirlist *l);

size_t dirlist_count(const struct dirlist *l);
struct dirlist_entry dirlist_get(const struct dirlist *l, size_t i); /* i < count */
const char *dirlist_name(const struct dirlist *l, size_t i);
/*
 * Entries [from..) as the kernel wants them, as many as fit: dots, "." and "..", are number 0 and 1
 * before the listing's own. bytes: [size], aligned as malloc does. Returns the bytes used.
 * Source: linux/fuse.h, struct fuse_dirent. (libfuse's own call takes four times as long.)
 */
size_t dirlist_write(const struct dirlist *l, const struct dirlist_entry dots[2], size_t from,
		     char *bytes, size_t size);
bool dirlist_has(const struct dirlist *l, const char *name); /* sealed ones only */
/* The same: -1, or where the name is. */
ptrdiff_t dirlist_find(const struct dirlist *l, const char *name);
size_t dirlist_bytes(const struct dirlist *l); /* of memory */

#endif
