/* SPDX-License-Identifier: MIT */
/*
 * table_dumps: the ".output" files: the contents of the cache, and counts by operation and path.
 *
 * Names and layouts are Copper's. Lists are sorted by path, or by value where Copper's are. The
 * text ends without a newline, which the writer of the file adds.
 */
#ifndef CACHEFS_PROFILE_TABLE_DUMPS_H
#define CACHEFS_PROFILE_TABLE_DUMPS_H

#include "base/buf.h"
#include "cachefs/profile/profile_facts.h"

enum table_dump {
	DUMP_TABLES,
	DUMP_COUNTS,
	DUMP_TIMES,
	DUMP_HITS,
	DUMP_MISSES,
	DUMP_NEGATIVES,
	DUMP_DATA_EVENTS,
	DUMP_TREE_EVENTS,
	DUMP_METADATA_EVENTS,
	DUMP_TTL_EVENTS,
	DUMP_DATA_SIZE,
	DUMP_TREE_SIZE,
	DUMP_METADATA_SIZE,
	TABLE_DUMPS,
};

extern const char *const table_dump_names[TABLE_DUMPS]; /* "cache_tables.output", ... */

/* Appends the dump. Dumps of the contents read c, the others f. */
int table_dump_put(enum table_dump dump, const struct profile_facts *f, struct cache *c,
		   struct buf *out) MUST_CHECK;

#endif
