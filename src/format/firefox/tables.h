/* SPDX-License-Identifier: MIT */
/*
 * firefox_tables: the stack, frame, function and resource tables of one thread, as the Firefox
 * Profiler has them. Rows refer to each other by index, and each exists once.
 *
 * A table is a strtab of rows, int64_t each; its columns are written as arrays.
 */
#ifndef FORMAT_FIREFOX_TABLES_H
#define FORMAT_FIREFOX_TABLES_H

#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "model/profile.h"

enum firefox_category {
	FIREFOX_OTHER,
	FIREFOX_USER,
	FIREFOX_KERNEL,
};

struct firefox_tables {
	const struct profile *p;   /* borrowed */
	const uint32_t *libraries; /* [mapping_count]: index among the file's libraries, or
				    * STRTAB_NONE; borrowed */
	struct strtab *strings, *resources, *functions, *frames, *stacks;
	struct map nodes;    /* the profile's node to its stack */
	struct rows pending; /* uint32_t: nodes whose stack is being found */
	struct buf name;     /* being made */
};

int firefox_tables_init(struct firefox_tables *t, const struct profile *p,
			const uint32_t *libraries) MUST_CHECK; /* 0 or -ENOMEM */
void firefox_tables_fini(struct firefox_tables *t);

/* The stack of a node of the profile. 0 or -ENOMEM. */
int firefox_find_stack(struct firefox_tables *t, uint32_t node, uint32_t *ret) MUST_CHECK;

/* Appends the tables as members of a JSON object, without a comma behind the last. */
void firefox_put_tables(const struct firefox_tables *t, struct buf *out);

#endif
