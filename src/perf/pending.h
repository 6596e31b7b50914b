/* SPDX-License-Identifier: MIT */
/*
 * pending: a queue of samples that wait for an unwinding table, first in, first out.
 *
 * A sample is copied out of the ring, with a reference to the address space at its time.
 */
#ifndef PERF_PENDING_H
#define PERF_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fifo.h"
#include "base/macros.h"
#include "interp/interp.h"
#include "perf/maps.h"
#include "perf/offcpu.h"
#include "perf/record.h"

/* A sample and its thread. */
struct pending_sample {
	struct record record; /* its pointers are into memory of its own */
	struct maps *maps;    /* a reference of its own */
	uint32_t pid;
	uint32_t thread;        /* index of tasks.h, */
	uint32_t thread_serial; /* still the same thread if this is */
	uint32_t labels;        /* label-set id */
	size_t event;
	uint32_t leaf;              /* location; 0: none */
	struct interp_stack interp; /* an interpreter's frames */
	bool is_wait;               /* of a thread that left its CPU, */
	bool is_over;               /* and came back: */
	struct offcpu_wait wait;    /* its time; or */
	bool is_summed;             /* its time is in offcpu_sums.h, */
	size_t sum;                 /* there */
};

/* All zero is empty. */
struct pending {
	struct fifo queue;
	size_t count;
	size_t bytes; /* of memory */
};

void pending_fini(struct pending *p);

/* Copies the sample with its data and references the maps. Returns the copy, borrowed until it is
 * dropped; NULL: out of memory. */
struct pending_sample *pending_put(struct pending *p, const struct pending_sample *s) MUST_CHECK;

/* The first one, NULL: empty. Borrowed until pending_drop(), which takes it out. */
const struct pending_sample *pending_first(const struct pending *p);
void pending_drop(struct pending *p);

#endif
