/* SPDX-License-Identifier: MIT */
/*
 * account: counts allocations and their ends at the sites of the file, and the process' peak.
 *
 * t may be NULL in all but account_made(): a thread that is ending.
 */
#ifndef PRELOAD_HEAP_ACCOUNT_H
#define PRELOAD_HEAP_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "preload/heap/blocks.h"
#include "preload/heap/thread.h"

/* Written once, before the first event. */
struct account_options {
	bool is_exact;   /* all events in one order */
	uint64_t period; /* mean bytes between samples; 0: all blocks */
};
extern struct account_options account_options;

/* A block that a call stack (see capture_stack) allocated. */
void account_made(struct thread *t, const void *block, size_t size, const uint64_t *frame);

/* Before block is freed. */
void account_freed(struct thread *t, const void *block);

/* A realloc() in three parts: what is known of the block is taken, before another thread can have
 * its address; then it has moved to another one, or is as it was. */
bool account_take(const void *block, struct block *ret);
void account_moved(struct thread *t, const struct block *old, const void *old_address,
		   const void *block, size_t size, const uint64_t *frame);
void account_put_back(const void *block, const struct block *old);

/* What the thread has not added to the header yet. */
void account_flush(struct thread *t);

/* For a child. */
void account_forget(void);

#endif
