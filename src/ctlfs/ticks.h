/* SPDX-License-Identifier: MIT */
/*
 * ticks: how often timers found each place of the kernel, for kpdata.
 *
 * Lines are of 64 bytes, so that a reader can seek: address, name in 29 columns, count. The
 * first is the total, the second what was not the kernel's; then a line for every 8 bytes of
 * code that were met, by address.
 */
#ifndef CTLFS_TICKS_H
#define CTLFS_TICKS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "model/profile.h"

#define TICKS_LINE_BYTES 64

/* All zero is empty. */
struct ticks {
	uint64_t total, user;
	struct map by_cell; /* index of cells */
	struct rows cells;  /* struct cell */
};

void ticks_fini(struct ticks *t);
void ticks_clear(struct ticks *t);

/* pc 0: the user's. Out of memory: counted in the total only. */
void ticks_add(struct ticks *t, uint64_t pc);

uint64_t ticks_len(const struct ticks *t); /* bytes of the file */

/* The cells as a profile of one type, to be named. */
struct profile *ticks_profile(const struct ticks *t) MUST_CHECK; /* NULL: out of memory */
/* The file from such a profile and the two counts. */
void ticks_put(const struct profile *p, uint64_t total, uint64_t user, struct buf *out);

#endif
