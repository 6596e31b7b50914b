/* SPDX-License-Identifier: MIT */
/*
 * strtab: interns byte strings as dense ids 0, 1, 2, ... in order of first use.
 *
 * Equal bytes have equal ids. Strings live as long as the table and never move, so a borrowed
 * pointer stays valid. Bytes need not be text: packed records are interned the same way.
 */
#ifndef BASE_STRTAB_H
#define BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/str.h"

#define STRTAB_NONE UINT32_MAX /* no such string; out of memory */

struct strtab;

struct strtab *strtab_new(void) MUST_CHECK; /* NULL: out of memory */
void strtab_free(struct strtab *t);

/* Copies. STRTAB_NONE: out of memory, 2^32-1 strings, or a string of 4 GiB and more. */
uint32_t strtab_intern(struct strtab *t, const void *bytes, size_t len);

/* STRTAB_NONE when it was never interned. */
uint32_t strtab_find(const struct strtab *t, const void *bytes, size_t len);

struct str strtab_get(const struct strtab *t, uint32_t id); /* id < count; a NUL follows */
size_t strtab_count(const struct strtab *t);

#endif
