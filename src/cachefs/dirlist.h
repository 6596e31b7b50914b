/* SPDX-License-Identifier: MIT */
/*
 * dirlist: all names of a folder, in order of their bytes, without "." and "..".
 *
 * Filled by one owner, then sealed; a sealed listing never changes and is shared by counting.
 */
#ifndef CACHEFS_DIRLIST_H
#define CACHEFS_DIRLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct dirlist_entry {
	uint64_t ino;
	uint32_t name;       /* offset of the name, NUL-terminated, in the listing's text */
	unsigned char dtype; /* DT_REG, DT_DIR, ...; DT_UNKNOWN is allowed */
};

struct dirlist;

struct dirlist *dirlist_new(void) MUST_CHECK; /* one reference; NULL: out of memory */
struct dirlist *dirlist_ref(struct dirlist *l);
void dirlist_unref(struct dirlist *l); /* NULL is allowed */

/* 0, -ENOMEM, or -EOVERFLOW: names of 4 GiB and more. */
int dirlist_add(struct dirlist *l, const char *name, uint64_t ino, unsigned char dtype) MUST_CHECK;
void dirlist_seal(struct dirlist *l);

size_t dirlist_count(const struct dirlist *l);
struct dirlist_entry dirlist_get(const struct dirlist *l, size_t i); /* i < count */
const char *dirlist_name(const struct dirlist *l, size_t i);
bool dirlist_has(const struct dirlist *l, const char *name); /* sealed ones only */
size_t dirlist_bytes(const struct dirlist *l);               /* of memory */

#endif
