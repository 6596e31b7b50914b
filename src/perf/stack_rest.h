/* SPDX-License-Identifier: MIT */
/*
 * stack_rest: reads the part of a stack behind its copy from the thread's memory.
 *
 * The memory is read after the sample, so frames may have returned meanwhile. It counts only when
 * it still has what the end of the copy has, byte for byte: return addresses, saved registers and
 * locals of the last frames. Then none of the frames behind them was left.
 */
#ifndef PERF_STACK_REST_H
#define PERF_STACK_REST_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "perf/record.h"

#define STACK_REST_BYTES ((size_t)1 << 20) /* read at most */
#define STACK_REST_WASTED 64               /* reads in a row that completed no stack: the last */

/* Reads [at..at + cap) of a process; returns the bytes from the start that are there. */
typedef size_t stack_rest_read(uint32_t pid, uint64_t at, unsigned char *to, size_t cap);

/* All zero: nothing is read. */
struct stack_rest {
	stack_rest_read *read;
	unsigned char *bytes; /* the whole stack, with the copy in front; owned */
	size_t cap;
	unsigned wasted; /* in a row */
};

void stack_rest_fini(struct stack_rest *r);

/*
 * Makes r->bytes the stack from sp on and returns its length; 0: it is not known. copy: from sp on.
 * from: address in the copy from which on the memory must agree.
 */
size_t stack_rest_get(struct stack_rest *r, uint32_t pid, uint64_t sp, struct record_bytes copy,
		      uint64_t from) MUST_CHECK;

/* Did what was read complete the stack? */
void stack_rest_count(struct stack_rest *r, bool is_complete);

#endif
