/* SPDX-License-Identifier: MIT */
/* table_contents: the dumps of what the tables hold, in Copper's layouts. */
#ifndef CACHEFS_PROFILE_TABLE_CONTENTS_H
#define CACHEFS_PROFILE_TABLE_CONTENTS_H

#include "cachefs/profile/table_dumps.h"

/* dump: one of TABLES, DATA_SIZE, TREE_SIZE, METADATA_SIZE. -ENOMEM. */
int table_contents_put(enum table_dump dump, const char *target, struct cache *c,
		       struct buf *out) MUST_CHECK;

#endif
