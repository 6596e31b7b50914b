/* SPDX-License-Identifier: MIT */
/*
 * mpstat: the time of each core by state, since boot or since a reset.
 * Source: proc(5), /proc/stat. The tables are those of Akaros' files mpstat and mpstat-raw.
 */
#ifndef CTLFS_MPSTAT_H
#define CTLFS_MPSTAT_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "target/cpulist.h"

#define MPSTAT_STATES 4 /* irq kern user idle */

/* All zero: since boot. */
struct mpstat {
	uint64_t (*base)[MPSTAT_STATES]; /* [cores], nanoseconds at the reset; owned */
};

void mpstat_fini(struct mpstat *m);

int mpstat_put(const struct mpstat *m, const struct cpulist *cores, struct buf *out,
	       struct err *e) MUST_CHECK;
int mpstat_put_raw(const struct mpstat *m, const struct cpulist *cores, struct buf *out,
		   struct err *e) MUST_CHECK;

/* "reset", "on", "off", "ipi on", "ipi off". All but "reset" do nothing here: Akaros had to wake
 * idle cores to read their times. -EINVAL. */
int mpstat_command(struct mpstat *m, const struct cpulist *cores, const char *text, size_t len,
		   struct err *e) MUST_CHECK;

#endif
