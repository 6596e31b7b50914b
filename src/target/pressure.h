/* SPDX-License-Identifier: MIT */
/*
 * pressure: time in which tasks of the machine, or of a control group, stalled for want of
 * something.
 *
 * Source: kernel Documentation/accounting/psi.rst; cgroup-v2.rst, cpu.pressure.
 */
#ifndef TARGET_PRESSURE_H
#define TARGET_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

/* some: at least one task; full: all. Since the machine began; after pressure_since(), of a time.
 */
struct pressure {
	bool has_value;
	int64_t cpu_some_ns, memory_some_ns, memory_full_ns, io_some_ns, io_full_ns;
};

struct pressure pressure_read(void);

/* Of the group of version 2 in this folder; the root group has none of its own. */
struct pressure pressure_of_group(const char *folder);

/* What came between the two, to before. */
void pressure_since(struct pressure *before, const struct pressure *after);

#endif
