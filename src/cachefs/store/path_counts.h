/* SPDX-License-Identifier: MIT */
/*
 * path_counts: the requests for one path, counted at its node by all threads at once.
 *
 * Counting takes no lock. When a node is evicted, its counts move to the `evicted` counts of its
 * folder, so that sums stay exact under any budget.
 */
#ifndef CACHEFS_STORE_PATH_COUNTS_H
#define CACHEFS_STORE_PATH_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

enum request_result {
	RESULT_HIT,      /* served from memory */
	RESULT_MISS,     /* waited for storage */
	RESULT_NEGATIVE, /* failed; in most cases with ENOENT */
	RESULT_NONE,     /* of an operation that the cache does not serve, such as release */
};
#define PATH_RESULTS 3 /* all but RESULT_NONE */

/* One for each of Copper's three tables of events. */
enum path_class {
	PATH_METADATA, /* getattr */
	PATH_DATA,     /* read */
	PATH_TREE,     /* readdir */
	PATH_CLASSES,
};

/* Events of a negative entry: a name that storage reported as ENOENT, cached for a limited time. */
enum negative_event {
	NEGATIVE_STORE,  /* storage returned ENOENT */
	NEGATIVE_SERVE,  /* the entry answered a lookup */
	NEGATIVE_EXPIRE, /* a lookup found the entry too old */
	NEGATIVE_CLEAR,  /* storage then returned something else than ENOENT */
	NEGATIVE_EVENTS,
};

struct path_counts {
	_Atomic uint64_t calls[PATH_CLASSES][PATH_RESULTS];
	_Atomic uint64_t ns[PATH_CLASSES][PATH_RESULTS];
	_Atomic uint64_t bytes[PATH_RESULTS]; /* read */
	_Atomic uint64_t negatives[NEGATIVE_EVENTS];
	_Atomic uint64_t paths;                /* in `evicted`: how many paths were merged */
	_Atomic(struct path_counts *) evicted; /* of evicted nodes below; owned; NULL: none */
};

/* Allocates *at unless it is set. True: this call did. False: it was set, or out of memory. */
bool path_counts_make(_Atomic(struct path_counts *) *at);
void path_counts_free(struct path_counts *c); /* frees `evicted`, too; NULL is allowed */

void path_counts_add(struct path_counts *c, enum path_class class, enum request_result result,
		     int64_t ns, uint64_t bytes);

/* Adds from, and its `evicted` counts, to to. */
void path_counts_merge(struct path_counts *to, const struct path_counts *from);

/* Sets the counts of this class to 0; PATH_CLASSES: all counts. */
void path_counts_reset(struct path_counts *c, enum path_class class);

/* Copies the counts without `evicted`. */
void path_counts_read(const struct path_counts *c, struct path_counts *ret);

uint64_t path_counts_events(const struct path_counts *c, enum path_class class);
uint64_t path_counts_ns(const struct path_counts *c, enum path_class class);
uint64_t path_counts_bytes(const struct path_counts *c);
uint64_t path_counts_negative_events(const struct path_counts *c);

/* Is any count above 0, in c or in its `evicted`? */
bool path_counts_has_any(const struct path_counts *c);

#endif
