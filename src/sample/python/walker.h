/* SPDX-License-Identifier: MIT */
/*
 * walker: loads the program that walks Python frames (bpf/python.bpf.c).
 *
 * Sampling events get a small program at once. The large one is loaded when the first Python is
 * seen.
 */
#ifndef SAMPLE_PYTHON_WALKER_H
#define SAMPLE_PYTHON_WALKER_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "bpf/python.h"
#include "interp/python_stacks.h"

struct walker;

/* Descriptors of the maps of another program that walks Python frames, which are then used by both
 * (bpf/python_walk.h). */
struct walker_maps {
	int processes, files, seen, strangers, ring;
};

/* Loads the small one. shared: NULL: the large one has maps of its own. Fails as bpf_probe()
 * does. */
int walker_new(const struct walker_maps *shared, struct walker **ret, struct err *e) MUST_CHECK;
void walker_free(struct walker *w); /* NULL is allowed */

int walker_program(const struct walker *w); /* descriptor, for PERF_EVENT_IOC_SET_BPF */

/* Loads the large one, if it is not; then what is added is walked. */
int walker_start(struct walker *w, struct python_stacks *to, struct err *e) MUST_CHECK;

/* Errors are of a full map: then the samples have no Python frames. */
void walker_add_file(struct walker *w, const struct python_file_key *key,
		     const struct python_file *file);
void walker_add_process(struct walker *w, uint32_t pid, const struct python_process *process);
void walker_remove_process(struct walker *w, uint32_t pid);

/* Passes the records that are there to the stacks. -ENOMEM. */
int walker_poll(struct walker *w) MUST_CHECK;
uint64_t walker_lost(const struct walker *w);

#endif
