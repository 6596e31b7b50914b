/* SPDX-License-Identifier: MIT */
/* memory: how much of it there is for us. */
#ifndef CACHEFS_STORE_MEMORY_H
#define CACHEFS_STORE_MEMORY_H

#include <stdint.h>

/* Bytes: of the machine, of the cgroup (v2 or v1) we are in or the smallest around it, or of the
 * process (ulimit -v), whichever is least.
 * Source: cgroups(7); Documentation/admin-guide/cgroup-v2.rst, memory.max; getrlimit(2). */
uint64_t memory_limit(void);

/* Before there are threads: where addresses are limited, malloc is not to set aside 64 MiB of them
 * for each thread. Source: mallopt(3), M_ARENA_MAX. */
void memory_spare_addresses(void);

#endif
