/* SPDX-License-Identifier: MIT */
/*
 * path_counts: what was asked of one path, counted at its node by all threads at once.
 *
 * Counting never waits. A node that goes leaves its counts to its folder's forgotten ones, so
 * that sums stay right under any budget.
 */
#ifndef CACHEFS_PROFILE_PATH_COUNTS_H
#define CACHEFS_PROFILE_PATH_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "cachefs/profile/metrics.h"

/* As Copper's three tables of events. */
enum path_class {
	PATH_METADATA, /* getattr */
	PATH_DATA,     /* read */
	PATH_TREE,     /* readdir */
	PATH_CLASSES,
};

#define PATH_RESULTS 3 /* enum metrics_result without METRICS_PLAIN */

/* Of a name that is kept as absent where its folder's names are not known. */
enum absent_event {
	ABSENT_STORE,  /* storage said it */
	ABSENT_SERVE,  /* it was the answer */
	ABSENT_EXPIRE, /* it was too old to be the answer */
	ABSENT_CLEAR,  /* then storage said something else */
	ABSENT_EVENTS,
};

struct path_counts {
	_Atomic uint64_t calls[PATH_CLASSES][PATH_RESULTS];
	_Atomic uint64_t ns[PATH_CLASSES][PATH_RESULTS];
	_Atomic uint64_t bytes[PATH_RESULTS]; /* read */
	_Atomic uint64_t absent[ABSENT_EVENTS];
	_Atomic uint64_t paths;                  /* that these are of: 1 but for forgotten ones */
	_Atomic(struct path_counts *) forgotten; /* of what was below it; NULL: none; owned */
};

/* Makes sure that there are some at *at. True: they are new; false: they were there, or there is
 * no memory for them. */
bool path_counts_make(_Atomic(struct path_counts *) *at);
void path_counts_free(struct path_counts *c); /* with the forgotten ones; NULL is allowed */

void path_counts_add(struct path_counts *c, enum path_class class, enum metrics_result result,
		     int64_t ns, uint64_t bytes);

/* Adds all of from, and of what it has of forgotten ones, to to. */
void path_counts_merge(struct path_counts *to, const struct path_counts *from);

/* Counts this class from 0 again; PATH_CLASSES: all there is. */
void path_counts_reset(struct path_counts *c, enum path_class class);

/* Copies the counts, but for the forgotten ones. */
void path_counts_read(const struct path_counts *c, struct path_counts *ret);

uint64_t path_counts_events(const struct path_counts *c, enum path_class class);
uint64_t path_counts_ns(const struct path_counts *c, enum path_class class);
uint64_t path_counts_bytes(const struct path_counts *c);
uint64_t path_counts_absent_events(const struct path_counts *c);

/* Also of what it has of forgotten ones. */
bool path_counts_has_any(const struct path_counts *c);

#endif
