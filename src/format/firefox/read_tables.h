/* SPDX-License-Identifier: MIT */
/*
 * read_tables: the tables of a thread of a Firefox profile as stacks of a profile.
 *
 * Tables that threads share stand once, in "shared". Names come from the file alone.
 */
#ifndef FORMAT_FIREFOX_READ_TABLES_H
#define FORMAT_FIREFOX_READ_TABLES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/macros.h"
#include "base/rows.h"
#include "model/profile.h"

enum firefox_part {
	FIREFOX_STRINGS,
	FIREFOX_STACKS,
	FIREFOX_FRAMES,
	FIREFOX_FUNCTIONS,
	FIREFOX_RESOURCES,
	FIREFOX_SOURCES,
	FIREFOX_PARTS,
};

/* Where the tables begin. */
struct firefox_places {
	struct json at[FIREFOX_PARTS];
	bool has[FIREFOX_PARTS];
};

/* Is this member one of the tables? Then its place is kept. The value is skipped in both cases. */
void firefox_places_note(struct firefox_places *places, const struct json_text *key,
			 struct json *j);

/* All zero is empty. */
struct firefox_stacks {
	struct rows nodes; /* uint32_t of the profile, by index of the stack */
};

void firefox_stacks_fini(struct firefox_stacks *s);

/* Reads a thread's stacks; shared: the tables that it lacks. libs: struct firefox_lib, by index.
 * -EINVAL: a stack is too deep. */
int firefox_stacks_read(struct firefox_stacks *s, struct profile *p,
			const struct firefox_places *own, const struct firefox_places *shared,
			const struct rows *libs, struct err *e) MUST_CHECK;

/* A library: ids of strings. */
struct firefox_lib {
	uint32_t path, build_id;
};

#endif
