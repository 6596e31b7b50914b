/* SPDX-License-Identifier: MIT */
/*
 * table_builder: builds unwinding tables in a thread of its own, so that the thread that reads the
 * rings is not blocked for the tenths of a second that a large file takes.
 *
 * All calls come from one thread. The builder's thread gets only file descriptors and returns
 * finished tables.
 */
#ifndef PERF_TABLE_BUILDER_H
#define PERF_TABLE_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "unwind/table.h"

struct table_builder;

/* Makes the table of the ELF file in fd here and now. At most 128 MiB of it are read. */
int table_builder_make(int fd, struct unwind_table **ret, struct err *e) MUST_CHECK;

struct table_builder *table_builder_new(void) MUST_CHECK; /* NULL: out of memory */
void table_builder_free(struct table_builder *m);         /* waits for the table being made */

/* Makes the table of the ELF file in fd, which is copied. 0, or -errno when it cannot be requested
 * (then the caller builds it). */
int table_builder_request(struct table_builder *m, uint32_t key, int fd) MUST_CHECK;

/* A finished table, NULL when the file has none or its storage does not reply; the caller's from
 * now on. false: nothing is finished. */
bool table_builder_take(struct table_builder *m, uint32_t *ret_key,
			struct unwind_table **ret_table);

/* Waits for a finished table; returns at once without requests. */
void table_builder_wait(struct table_builder *m);

#endif
