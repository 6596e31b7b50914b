/* SPDX-License-Identifier: MIT */
/*
 * attach: records the allocations of a process that runs already.
 *
 * libauger-heap.so is copied into a memory file of the process, which one of its threads opens with
 * dlopen() at a safe point; then the modules of the process call the library's functions instead
 * of malloc(). Detaching reverses that. The library stays mapped, and is used again by whoever
 * attaches next. If we die in between, the thread goes on by itself, and the process is recorded
 * until somebody attaches to it again.
 *
 * The process may be hostile, and we may be root. So nothing is made, written or removed by a path
 * of it: it makes the heap file itself, with its own rights and without a name, and we read what it
 * has mapped. The memory file for the library is written only if that takes nothing from anybody.
 */
#ifndef HEAP_ATTACH_H
#define HEAP_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

struct heap_attach_opts {
	pid_t pid;
	uint64_t sample_bytes; /* one allocation is recorded in so many bytes; 0: all are */
	bool is_exact;         /* the peak is exact with several threads, too */
	bool has_mappings;     /* what is mapped is recorded, too, and stacks of threads */
};

struct heap_attachment {
	pid_t pid;
	uint64_t start_ticks; /* of the process */
	int file;             /* its heap file, of which we have the lock; -1: none */
	bool is_on;           /* the process is recorded */
};

/* Refused with ERR_USAGE: see heap_check_process(). -EBUSY: another auger records it, or there was
 * no safe point for 10 seconds. heap_attachment_fini() follows in any case. */
int heap_attach(const struct heap_attach_opts *o, struct heap_attachment *ret,
		struct err *e) MUST_CHECK;

/* A process that has ended is detached from. */
int heap_detach(struct heap_attachment *a, struct err *e) MUST_CHECK;

/* The file has no name: it ends with its last descriptor. All zero is not allowed. */
void heap_attachment_fini(struct heap_attachment *a);

#endif
