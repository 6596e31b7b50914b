/* SPDX-License-Identifier: MIT */
/*
 * duplicates: drops records of a thread that has the same event twice.
 *
 * A thread that is created while a recording attaches to its process may inherit an event and get
 * one of its own. Both sample all of it. Of each thread, CPU and event, the records of the event
 * that wrote first are kept: events differ by PERF_SAMPLE_IDENTIFIER, which children share with
 * the event they inherited. Source: perf_event_open(2); kernel 6.18, kernel/events/core.c,
 * primary_event_id().
 */
#ifndef SAMPLE_DUPLICATES_H
#define SAMPLE_DUPLICATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/map.h"
#include "perf/record.h"

/* All zero: no thread is known. */
struct duplicates {
	struct map lives;  /* of a tid: a number that each new thread of this tid changes */
	struct map owners; /* of (life, place): the low half of the event's id */
	uint32_t life_count;
};

void duplicates_fini(struct duplicates *d);

/* Is the record to be dropped? Records come in the order of time. place: of CPU, ring and event,
 * equal for the same event of one CPU. Without memory no record is dropped. */
bool duplicates_drop(struct duplicates *d, const struct record *r, uint32_t place) MUST_CHECK;

#endif
