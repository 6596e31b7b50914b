/* SPDX-License-Identifier: MIT */
/*
 * pressure: stall times (PSI) of the machine or of a control group.
 *
 * Source: kernel Documentation/accounting/psi.rst; cgroup-v2.rst, cpu.pressure.
 */
#ifndef TARGET_PRESSURE_H
#define TARGET_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

/* some: at least one task; full: all. Since boot; after pressure_since(), of an interval.
 */
struct pressure {
	bool has_value;
	int64_t cpu_some_ns, memory_some_ns, memory_full_ns, io_some_ns, io_full_ns;
};

struct pressure pressure_read(void);

/* Of the version 2 group in this folder; the root group has no files. */
struct pressure pressure_of_group(const char *folder);

/* The difference of the two, in before. */
void pressure_since(struct pressure *before, const struct pressure *after);

#endif
