/* SPDX-License-Identifier: MIT */
/*
 * histogram: counts samples by kernel address, for kpdata.
 *
 * Lines have 64 bytes, so that a reader can seek: address, name in 29 columns, count. The first is
 * the total, the second counts user code; then a line for every 8 bytes of sampled code, by
 * address.
 */
#ifndef CTLFS_HISTOGRAM_H
#define CTLFS_HISTOGRAM_H

#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "model/profile.h"

#define HISTOGRAM_LINE_BYTES 64

/* All zero is empty. */
struct histogram {
	uint64_t total, user;
	struct map by_cell; /* index of cells */
	struct rows cells;  /* struct cell */
};

void histogram_fini(struct histogram *t);
void histogram_clear(struct histogram *t);

/* pc 0: user code. Out of memory: counted in the total only. */
void histogram_add(struct histogram *t, uint64_t pc);

uint64_t histogram_len(const struct histogram *t); /* bytes of the file */

/* The cells as a profile of one type, for symbolizing. */
struct profile *histogram_profile(const struct histogram *t) MUST_CHECK; /* NULL: out of memory */
/* Renders the file from such a profile and the two counts. */
void histogram_put(const struct profile *p, uint64_t total, uint64_t user, struct buf *out);

#endif
