/* SPDX-License-Identifier: MIT */
/*
 * pressure: time in which tasks of the machine stalled for want of something.
 *
 * Source: kernel Documentation/accounting/psi.rst.
 */
#ifndef COLLECT_PRESSURE_H
#define COLLECT_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

/* some: at least one task; full: all. Since the machine began; after pressure_since(), of a time.
 */
struct pressure {
	bool has_value;
	int64_t cpu_some_ns, memory_some_ns, memory_full_ns, io_some_ns, io_full_ns;
};

struct pressure pressure_read(void);

/* What came since then. */
void pressure_since(struct pressure *before);

#endif
