/* SPDX-License-Identifier: MIT */
/*
 * user_stack: unwinds the user part of a stack from the registers and the stack copy of a sample.
 *
 * A copy that ends too early is extended where that is certain: by earlier frames of the thread
 * (unwind/stitch.h), else by its memory after the sample (perf/stack_rest.h), else by the kernel's
 * frame-pointer chain (unwind/fp_chain.h). The first two are of another moment: joins.h decides
 * whether they are shown.
 */
#ifndef PERF_USER_STACK_H
#define PERF_USER_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "perf/dso.h"
#include "perf/record.h"
#include "perf/stack_rest.h"
#include "perf/stack_trie.h"
#include "perf/unwind_tables.h"
#include "unwind/stitch.h"

#define USER_STACK_MAX 32768 /* frames */

/* How stacks ended. */
struct user_stack_counts {
	uint64_t complete; /* at the outermost frame, by the copy alone */
	uint64_t linked;   /* likewise, with frames of the kernel's frame-pointer chain */
	uint64_t joined; /* likewise, with frames of another moment (joins.h); ingest counts them */
	uint64_t truncated; /* where the copy ends, and what could continue it */
	uint64_t broken;    /* at a frame without a usable rule */
};

/* "stacks: 99.1 % complete, 3 truncated"; nothing when there were none. */
void user_stack_put_counts(struct buf *out, const struct user_stack_counts *n);

struct user_stacks;

/* machine: EM_X86_64, EM_AARCH64. NULL: out of memory. */
struct user_stacks *user_stacks_new(struct dsos *d, struct unwind_tables *t,
				    uint16_t machine) MUST_CHECK;
void user_stacks_free(struct user_stacks *u);

/* How to read what a copy lacks; NULL: not at all. */
void user_stacks_read_by(struct user_stacks *u, stack_rest_read *read);

/* The registers to ask perf_event_open(2) for; 0: a machine that is not known. */
uint64_t user_stack_regs(uint16_t machine);
/* Of these, the stack pointer and the address, in this order. */
uint64_t user_stack_least_regs(uint16_t machine);

/* The stack pointer among the registers of a sample; 0: it is not there. */
uint64_t user_stack_pointer(uint16_t machine, const struct record_regs *regs);
/* And before them the frame pointer, and before that on x86-64 rdi, where vfork of glibc has its
 * return address. */
uint64_t user_stack_frame_regs(uint16_t machine);
uint16_t user_stack_machine(void); /* of this program */

/* The most registers that a sample has. */
#define USER_STACK_REGS_MAX 64

/* The registers of a stopped thread as those of a sample. dwarf: [count], by DWARF number. Writes
 * them in perf's order; returns their mask, whose bits are their count. */
uint64_t user_stack_put_regs(uint16_t machine, uint64_t ip, const uint64_t *dwarf, size_t count,
			     uint64_t ret[USER_STACK_REGS_MAX]);

/* Of which process a stack is. */
struct user_stack_owner {
	struct maps *maps;
	uint32_t pid;
	struct stitch *stitch; /* of the thread; NULL: no stitching */
	bool in_kernel;        /* the kernel ran for the thread */
	bool is_uncounted;     /* user_stacks_counts() are of other stacks */
	bool cannot_wait;      /* for tables: use those that are ready */
};

/* Which of the frames are certain. */
struct user_stack_join {
	size_t copied; /* [0..copied) are of the copy, what is behind them was joined; 0: nothing
			  was */
	bool is_read;  /* ... from the thread's memory, and compared with its earlier stacks */
};

/*
 * Writes the frames of a sample, leaf first, to out[0..USER_STACK_MAX), and their number; 0: none.
 * An incomplete stack ends with a marker frame. false: a table is not ready, and nothing was done.
 */
bool user_stacks_walk(struct user_stacks *u, const struct record_sample *s,
		      const struct user_stack_owner *owner, struct stack_frame *out,
		      size_t *ret_count, struct user_stack_join *ret_join);

/* Without joined ones. */
const struct user_stack_counts *user_stacks_counts(const struct user_stacks *u);

#endif
