/* SPDX-License-Identifier: MIT */
/*
 * xattr_table: the extended attributes of files for other nodes, as bodies of the overlay. The
 * cache itself keeps none. A fixed number of entries; a new one replaces the one in its slot. One
 * thread at a time.
 */
#ifndef CACHEFS_OVERLAY_XATTR_TABLE_H
#define CACHEFS_OVERLAY_XATTR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/str.h"

struct xattr_table;

struct xattr_table *xattr_table_new(void) MUST_CHECK; /* NULL: out of memory */
void xattr_table_free(struct xattr_table *t);         /* NULL is allowed */

/* Copies both; large bodies are not kept. read_ns: when storage was read. */
void xattr_table_put(struct xattr_table *t, struct str path, struct str body, int64_t read_ns);
/* *ret_body is borrowed until the next put. */
bool xattr_table_get(const struct xattr_table *t, struct str path, struct str *ret_body,
		     int64_t *ret_read_ns) MUST_CHECK;

#endif
