/* SPDX-License-Identifier: MIT */
/* profile_internal: what the source files of profile share. */
#ifndef MODEL_PROFILE_INTERNAL_H
#define MODEL_PROFILE_INTERNAL_H

#include "base/map.h"
#include "base/rows.h"
#include "model/profile.h"
#include "model/trie.h"

/* What of a location does not move. */
struct location_row {
	uint64_t address;
	uint32_t mapping;
	uint32_t first_line; /* index into lines */
	uint32_t line_count;
	bool is_folded;
};

struct label_set {
	uint32_t first; /* index into labels */
	uint32_t count;
};

struct sample_row {
	uint32_t node, labels;
};

struct profile {
	int error; /* first failure of a builder; 0: none */
	struct profile_info info;
	struct strtab *strings;
	struct strtab *mapping_keys, *function_keys, *location_keys, *label_keys; /* key to id */
	struct trie trie;
	struct map sample_keys; /* (node, labels) to sample */
	struct sample_times times;
	struct rows types, comments, mappings, functions, locations, lines, label_sets, labels,
		samples, values;
};

/* Remembers the first failure. */
void profile_fail(struct profile *p, int error);

/* n new rows behind the last, or NULL (remembered). Those of one kind have one size. */
void *profile_add_rows(struct profile *p, struct rows *rows, size_t row_bytes, size_t n);

/*
 * The row of a packed key, *ret_new when it is new and the caller fills it, else NULL. Key
 * tables count from 0, rows from 1. Rows and keys stay in step, so after a failure nothing
 * more is interned, and 0 is returned.
 */
uint32_t profile_intern(struct profile *p, struct strtab *keys, struct rows *rows, size_t row_bytes,
			const void *key, size_t len, void **ret_new);

#endif
