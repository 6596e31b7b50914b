/* SPDX-License-Identifier: MIT */
/*
 * usage_table: how full caches are, one row a table: of a mounted one, or of the files that the
 * ranks of a job have written.
 */
#ifndef CACHEJOB_USAGE_TABLE_H
#define CACHEJOB_USAGE_TABLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "cachefs/profile/control.h"

struct usage_totals {
	uint64_t files[USAGE_TABLES]; /* that were read; 0 of a mounted cache */
	uint64_t used_bytes[USAGE_TABLES], entries[USAGE_TABLES];
	uint64_t caches; /* whose budget is known */
	uint64_t budget_bytes, remaining_bytes;
	size_t left_out; /* files and folders that could not be read */
};

void usage_table_of(const struct control_stats *stats, struct usage_totals *ret);

/* All "*-data_cache_size.output" and the like anywhere below dir. Those that are damaged or cannot
 * be read are told by LOG_WARN and left out. -ENODATA: there are no others. */
int usage_table_read(const char *dir, struct usage_totals *ret, struct err *e) MUST_CHECK;

/* A Markdown table with aligned columns, and CSV. */
void usage_table_put(const struct usage_totals *t, struct buf *out);
void usage_table_put_csv(const struct usage_totals *t, struct buf *out);

#endif
