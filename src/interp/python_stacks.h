/* SPDX-License-Identifier: MIT */
/*
 * python_stacks: keeps the Python frames of samples until the samples come, and joins them by
 * thread and time.
 *
 * What is put in are the records of bpf/python.h. Nothing in them is trusted.
 */
#ifndef INTERP_PYTHON_STACKS_H
#define INTERP_PYTHON_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "interp/codes.h"
#include "interp/interp.h"

struct python_stacks {
	struct codes *codes;  /* owned */
	struct buf records;   /* struct python_stack and its frames, each behind its length */
	struct map by_sample; /* place in records */
	struct rows frames;   /* struct interp_frame, of the last one found */
	uint64_t dropped;     /* stacks that were no chain of frames */
	uint64_t cut;         /* with more frames than fit */
};

int python_stacks_init(struct python_stacks *s) MUST_CHECK; /* 0 or -ENOMEM */
void python_stacks_fini(struct python_stacks *s);

/* A record. 0 or -ENOMEM. */
int python_stacks_put(struct python_stacks *s, const void *record, size_t len) MUST_CHECK;

/* The frames of a sample, valid until the next call; false: there are none. */
bool python_stacks_find(struct python_stacks *s, uint32_t tid, uint64_t time_ns,
			struct interp_stack *ret);

/* Forgets stacks before this time. 0 or -ENOMEM. */
int python_stacks_forget(struct python_stacks *s, uint64_t before_ns) MUST_CHECK;

#endif
