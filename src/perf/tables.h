/* SPDX-License-Identifier: MIT */
/*
 * tables: the unwinding tables of the files that stacks go through, each made when the first
 * stack does.
 *
 * For a live recording a thread of its own makes them, and whoever asks has to wait; else they
 * are made at once.
 */
#ifndef PERF_TABLES_H
#define PERF_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "perf/dso.h"
#include "perf/maps.h"
#include "unwind/table.h"

struct tables;

/* is_live: tables are made by another thread. NULL: out of memory. */
struct tables *tables_new(struct dsos *d, bool is_live) MUST_CHECK;
void tables_free(struct tables *t);

/* Is everything there that there will be of the code in v, a mapping of process pid? If not,
 * it is asked for; false: it is not there yet. *ret_is_new: it came with this call. */
bool tables_want(struct tables *t, const struct vma *v, uint32_t pid, bool *ret_is_new);

/* Takes in what was finished meanwhile; wait: waits for something. true: something was. */
bool tables_collect(struct tables *t, bool wait);
size_t tables_waiting(const struct tables *t); /* asked for and not there yet */

/* Another number after each table that came. */
uint64_t tables_version(const struct tables *t);

/* NULL when there is none (yet). */
const struct unwind_table *tables_get(const struct tables *t, const struct vma *v);

/* A stack ended in v that should not have: nothing told how to go on. */
void tables_count_end(struct tables *t, const struct vma *v);

/* The path of the dso with the n-th most of these ends, *ret_count; "" and 0: there are no
 * more. */
const char *tables_worst(const struct tables *t, size_t n, uint64_t *ret_count);

#endif
