/* SPDX-License-Identifier: MIT */
/*
 * joins: samples whose outer frames are not in the copy of their stack, but were joined to it from
 * earlier stacks of the thread, or from its memory after the sample (user_stack.h).
 *
 * Code that reaches the same depth with the same bytes from two callers makes such a join wrong,
 * and that shows only later. So each sample counts for its joined stack only as long as the last
 * frame of the copy has been read with its callers often enough, and as no frame from there on
 * was seen with two callers; else it counts for the truncated stack. When that changes, all
 * samples move, also those added long before: joins_settle().
 */
#ifndef PERF_JOINS_H
#define PERF_JOINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "model/profile.h"

#define JOINS_READ_MIN 8 /* of two callers that take turns, all but 1 of 128 are seen by then */

/* All zero but the profile and read_min is empty. */
struct joins {
	struct profile *profile;
	uint32_t read_min;   /* readings that make a join trusted: JOINS_READ_MIN; 0: nothing can be
			      * read, and what was seen before counts until it is doubted */
	struct rows samples; /* distinct joined stacks with labels */
	struct rows values;  /* of each, one a type */
	struct map by_sample; /* (node, label set): index */
	struct map readings;  /* location of the last copied frame: times that it was read */
	struct map doubts;    /* locations that were seen with two callers */
	uint64_t joined;      /* samples that count for joined stacks, */
	uint64_t truncated;   /* and for truncated ones */
	bool is_changed;      /* since the last joins_settle() */
};

void joins_fini(struct joins *j);

/*
 * A sample of a joined stack: of its frames [0..copied) from the leaf are in the copy. values:
 * [type count of the profile]. is_read: the others are from the thread's memory. 0 or -ENOMEM.
 */
int joins_add(struct joins *j, uint32_t node, size_t copied, uint32_t labels, const int64_t *values,
	      bool is_read) MUST_CHECK;

/* A frame at this location was seen with two callers. 0 or -ENOMEM. */
int joins_doubt(struct joins *j, uint32_t location) MUST_CHECK;

/* Is a stack trusted at this time? For samples that are not added here. */
bool joins_trusts(const struct joins *j, uint32_t node, size_t copied);

/* The node that a stack which was added counts for at this time. */
uint32_t joins_node(struct joins *j, uint32_t node, uint32_t labels);

/* Moves the samples whose trust has changed. 0 or -ENOMEM. */
int joins_settle(struct joins *j) MUST_CHECK;

#endif
