/* SPDX-License-Identifier: MIT */
/* memory: how much of it there is for us. */
#ifndef CACHEFS_MEMORY_H
#define CACHEFS_MEMORY_H

#include <stdint.h>

/* Bytes: of the machine, or of the cgroup (v2 or v1) we are in or the smallest around it.
 * Source: cgroups(7); Documentation/admin-guide/cgroup-v2.rst, memory.max. */
uint64_t memory_limit(void);

#endif
