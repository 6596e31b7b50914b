/* SPDX-License-Identifier: MIT */
/*
 * unwind_tables: the unwinding tables of the files that stacks pass through, each built when the
 * first stack does.
 *
 * In a live recording a separate thread builds them, and the sample waits; otherwise they are
 * built at once.
 */
#ifndef PERF_UNWIND_TABLES_H
#define PERF_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "perf/dso.h"
#include "perf/maps.h"
#include "unwind/table.h"

struct unwind_tables;

/* is_live: tables are made by another thread. NULL: out of memory. */
struct unwind_tables *unwind_tables_new(struct dsos *d, bool is_live) MUST_CHECK;
void unwind_tables_free(struct unwind_tables *t);

/* Is the table for the code in v, a mapping of process pid, ready or known to be absent? false: not
 * yet; it is requested. *ret_is_new: this call made it ready. */
bool unwind_tables_request(struct unwind_tables *t, const struct vma *v, uint32_t pid,
			   bool *ret_is_new);

/* Collects finished tables; wait: waits for one. true: there was one. */
bool unwind_tables_collect(struct unwind_tables *t, bool wait);
size_t unwind_tables_pending(const struct unwind_tables *t); /* requested and not ready */

/* Changes with each new table. */
uint64_t unwind_tables_version(const struct unwind_tables *t);

/* NULL when there is none (yet). */
const struct unwind_table *unwind_tables_get(const struct unwind_tables *t, const struct vma *v);

/* Counts a stack that broke off in v for want of a rule. */
void unwind_tables_count_end(struct unwind_tables *t, const struct vma *v);

/* The path of the dso with the n-th most of these ends, *ret_count; "" and 0: there are no
 * more. */
const char *unwind_tables_worst(const struct unwind_tables *t, size_t n, uint64_t *ret_count);

#endif
