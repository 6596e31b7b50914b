/* SPDX-License-Identifier: MIT */
/*
 * regions: names the memory region of a data address: heap, stack, file, ...
 *
 * It keeps all mappings of each process, with code or without; perf/maps.h has only code. Names
 * are "[heap]", "[stack]", "[thread stack]", "[anon]" (other anonymous memory), "[anon huge]"
 * (reserved huge pages), "[shared]" (shared anonymous memory), "PATH" (a file) and "PATH [bss]"
 * (zeroed memory after its data). A process that ended is kept until its id is reused.
 */
#ifndef PERF_REGIONS_H
#define PERF_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "model/profile.h"
#include "perf/record.h"

struct regions;

struct regions *regions_new(struct profile *p) MUST_CHECK; /* NULL: out of memory */
void regions_free(struct regions *r);                      /* NULL is allowed */

/* Process a record. 0 or -ENOMEM. */
int regions_map(struct regions *r, const struct record_mmap *m) MUST_CHECK;
int regions_fork(struct regions *r, uint32_t pid, uint32_t parent) MUST_CHECK;
int regions_exec(struct regions *r, uint32_t pid) MUST_CHECK; /* drops its mappings */

/* The region name of address, a string id of the profile; 0: unknown. sp: the thread's
 * stack pointer, 0: unknown. */
uint32_t regions_find(struct regions *r, uint32_t pid, uint64_t address, uint64_t sp);

#endif
