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
	bool is_exact;     /* all events in one order */
	uint64_t period;   /* mean bytes between samples; 0: all blocks */
	bool has_mappings; /* memory that the program maps is recorded, too: all of it */
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

/* A mapping of these bytes at address, of which the caller keeps the site. */
uint32_t account_mapped(struct thread *t, uint64_t address, uint64_t bytes, const uint64_t *frame,
			bool is_move);

/* Bytes of mappings end, and with the last of one its object. address: of a whole one, which
 * may be a temporary one; or 0. */
void account_unmapped(struct thread *t, uint64_t address, uint32_t site, uint64_t objects,
		      uint64_t bytes);

/* What cannot be recorded. */
void account_miss(void);

/* What the thread has not added to the header yet. */
void account_flush(struct thread *t);

/* For a child. */
void account_forget(void);

#endif
