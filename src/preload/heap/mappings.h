/* SPDX-License-Identifier: MIT */
/*
 * mappings: the ranges of addresses that the program has mapped (--mmap), and the sites of these
 * calls.
 *
 * A mapping is one object, however many pieces are left of it: its bytes end with each piece, it
 * ends with the last one. A change of the address space and that of the ranges are one step: the
 * caller holds the lock over the system call, unless only this one can know the address yet.
 * Allocates with mmap.
 */
#ifndef PRELOAD_HEAP_MAPPINGS_H
#define PRELOAD_HEAP_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/heap/thread.h"

void mappings_lock(void);
void mappings_unlock(void);

/* Under lock, as what follows. [start..end) is not mapped any more; what was never known there is
 * not looked at. t may be NULL. is_move: mremap() moved it, so that it ends as no temporary one. */
void mappings_cut(struct thread *t, uint64_t start, uint64_t end, bool is_move);

/* [start..end) was mapped by the caller of frame, over what was there. */
void mappings_put(struct thread *t, uint64_t start, uint64_t end, const uint64_t *frame,
		  bool is_move);

/* For a child whose parent had threads: if one of them was in here, all are forgotten. */
void mappings_repair(void);

/* Forgets all, where no thread uses them. */
void mappings_release(void);

#endif
