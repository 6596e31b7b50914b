/* SPDX-License-Identifier: MIT */
/*
 * settings: the settings of a job's ranks, from the heads of their summaries, with the number of
 * ranks for each.
 *
 * Source: the "- KEY: `VALUE`" lines of profiling_summary.md, Copper's and ours.
 */
#ifndef CACHEJOB_SETTINGS_H
#define CACHEJOB_SETTINGS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/rows.h"
#include "base/strtab.h"

#define SETTINGS_HEAD_BYTES 4096 /* of a summary: more than its head takes */

struct settings {
	struct strtab *lines; /* "KEY\0VALUE"; an id is an index of ranks */
	struct rows ranks;    /* size_t: how many have this line */
};

int settings_init(struct settings *s) MUST_CHECK; /* 0 or -ENOMEM */
void settings_fini(struct settings *s);           /* all zero is allowed */

/* text: the start of a rank's summary; other lines are skipped. 0 or -ENOMEM. */
int settings_add(struct settings *s, const char *text, size_t len) MUST_CHECK;

/* How many ranks have KEY: `START...`? */
size_t settings_ranks(const struct settings *s, const char *key, const char *start);

/* Appends the lines. If ranks differ, each line has its number of ranks. */
void settings_put(const struct settings *s, struct buf *out);

#endif
