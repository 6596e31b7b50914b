/* SPDX-License-Identifier: MIT */
/* memory: the memory limits of this process. */
#ifndef CACHEFS_MEMORY_MEMORY_H
#define CACHEFS_MEMORY_MEMORY_H

#include <stdint.h>

/* The least of: the machine's memory, the limits of our cgroup (v2 or v1) and of all above it, and
 * the process's (ulimit -v), in bytes.
 * Source: cgroups(7); Documentation/admin-guide/cgroup-v2.rst, memory.max; getrlimit(2). */
uint64_t memory_limit(void);

/* Where RLIMIT_AS is set, keeps malloc from reserving 64 MiB of addresses a thread. Call it before
 * there are threads. Source: mallopt(3), M_ARENA_MAX. */
void memory_limit_arenas(void);

#endif
