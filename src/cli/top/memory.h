/* SPDX-License-Identifier: MIT */
/*
 * top_memory: bounds the memory that 'auger top' keeps, whatever it samples.
 *
 * Names, mappings, stacks and unwinding tables of all that was sampled are kept until they take
 * TOP_MEMORY_MAX bytes, or half of RLIMIT_DATA or RLIMIT_AS where that is less; then the recording
 * begins anew. A refresh, which makes a copy of what is shown, may take as much again for a moment.
 * The kernel's rings are not part of it.
 */
#ifndef CLI_TOP_MEMORY_H
#define CLI_TOP_MEMORY_H

#include <stdint.h>

#define TOP_MEMORY_MAX ((uint64_t)256 << 20)

/* What may be kept, and what this process has: anonymous memory, swapped or not; in bytes. */
uint64_t top_memory_max(void);
uint64_t top_memory_used(void);

/* Gives memory that was freed back to the system. */
void top_memory_trim(void);

#endif
