/* SPDX-License-Identifier: MIT */
/*
 * usage_table: the memory that caches use, one row a table: of a mounted cache, or of a job's ranks
 * from their files.
 */
#ifndef CACHEJOB_USAGE_TABLE_H
#define CACHEJOB_USAGE_TABLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "cachefs/profile/control.h"
#include "view/emit.h"

struct usage_totals {
	uint64_t files[USAGE_TABLES]; /* that were read; 0: a mounted cache */
	uint64_t used_bytes[USAGE_TABLES], entries[USAGE_TABLES];
	uint64_t caches; /* with a known budget */
	uint64_t budget_bytes, remaining_bytes;
	size_t left_out; /* files and folders that could not be read */
};

void usage_table_of(const struct control_stats *stats, struct usage_totals *ret);

/* Reads all "*-data_cache_size.output" and the like anywhere below dir. Leaves out damaged and
 * unreadable files, and logs them by LOG_WARN. -ENODATA: none is left. */
int usage_table_read(const char *dir, struct usage_totals *ret, struct err *e) MUST_CHECK;

/* The rows of a table, after the caller's head; and CSV with Copper's columns before ours. */
void usage_table_put(const struct usage_totals *t, struct emit *out);
void usage_table_put_csv(const struct usage_totals *t, struct buf *out);

#endif
