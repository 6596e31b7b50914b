/* SPDX-License-Identifier: MIT */
/*
 * mappings: the ranges of addresses that the program has mapped (--mmap), and the sites of these
 * calls.
 *
 * A mapping is one object, however many pieces are left of it: its bytes end with each piece, it
 * ends with the last one. No lock is held over a system call, which may take as long as it likes
 * (much memory, storage that does not reply, userfaultfd(2)). So another thread may map and put
 * what a call has unmapped before that is cut: mappings are counted, and newer ones are not cut.
 * Allocates with mmap.
 */
#ifndef PRELOAD_HEAP_MAPPINGS_H
#define PRELOAD_HEAP_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/heap/thread.h"

/* Nothing in a thread that forks, which has the lock. */
void mappings_lock(void);
void mappings_unlock(void);

/* How many have been put so far. Also without the lock. */
uint64_t mappings_made(void);

/* Under lock, as what follows. Of the first made mappings [start..end) is not mapped any more; what
 * was never known there is not looked at. t may be NULL. is_move: mremap() moved it, so that it
 * ends as no temporary one. */
void mappings_cut(struct thread *t, uint64_t start, uint64_t end, uint64_t made, bool is_move);

/* [start..end) was mapped by the caller of frame, over what was there. */
void mappings_put(struct thread *t, uint64_t start, uint64_t end, const uint64_t *frame,
		  bool is_move);

/* For a child whose parent had threads: if one of them was in here, all are forgotten. */
void mappings_repair(void);

/* Forgets all, where no thread uses them. */
void mappings_release(void);

#endif
