/* SPDX-License-Identifier: MIT */
/*
 * python_read: reads the Python frames of a thread from outside, through a function that reads the
 * process' memory.
 *
 * The thread runs meanwhile, so that what is read may be of several moments. Only what is a chain
 * of frames is reported; whether it fits the native stack of a sample is for the caller to see. The
 * memory may hold anything: all steps are bounded.
 */
#ifndef INTERP_PYTHON_READ_H
#define INTERP_PYTHON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/map.h"
#include "bpf/python.h"
#include "interp/python_stacks.h"

/* Reads len bytes at an address; false: not all of them are there. */
typedef bool python_read_memory(void *context, uint64_t at, void *to, size_t len);

struct python_reader {
	struct python_process process;
	uint32_t tgid; /* of the records */
	python_read_memory *read;
	void *context;
	struct map *seen; /* ids of code objects that were put; borrowed */
};

/*
 * Puts the records of a thread's frames, as of a sample at this time, to s. tid: for the record;
 * inner_tid: the thread's number in its own pid namespace. 0 or -ENOMEM.
 */
int python_read_stack(struct python_reader *r, uint32_t tid, uint32_t inner_tid, uint64_t time_ns,
		      struct python_stacks *s) MUST_CHECK;

#endif
