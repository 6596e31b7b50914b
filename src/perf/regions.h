/* SPDX-License-Identifier: MIT */
/*
 * regions: what memory an address of a process lies in: its heap, a stack, a file, ...
 *
 * All mappings are kept, code or not, by process, as the records tell of them; maps of perf/maps.h
 * have only code. Names: "[heap]", "[stack]", "[thread stack]", "[anon]" (memory of nobody else),
 * "[anon huge]" (of huge pages that were reserved), "[shared]" (of several processes, without a
 * file), "PATH" of a file, "PATH [bss]" behind its data. A process that ended is kept until its
 * number is used again.
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

/* The records. 0 or -ENOMEM. */
int regions_map(struct regions *r, const struct record_mmap *m) MUST_CHECK;
int regions_fork(struct regions *r, uint32_t pid, uint32_t parent) MUST_CHECK;
int regions_exec(struct regions *r, uint32_t pid) MUST_CHECK; /* mappings are gone */

/* The name of what address lies in, a string id of the profile; 0: nothing tells. sp: the thread's
 * stack pointer, 0: not told. */
uint32_t regions_find(struct regions *r, uint32_t pid, uint64_t address, uint64_t sp);

#endif
