/* SPDX-License-Identifier: MIT */
/* scale: the metrics of a command of which several copies ran at once, step by step. */
#ifndef MODEL_SCALE_H
#define MODEL_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of a copy: the mean over the copies that ran at once, unless noted. */
enum scale_metric {
	SCALE_WALL,
	SCALE_WALL_MOST, /* of the slowest copy */
	SCALE_USER,
	SCALE_SYSTEM,
	SCALE_RUN_WAIT,
	SCALE_BLOCKED, /* neither on a CPU nor waiting for one; absent: several threads */
	SCALE_MINOR,
	SCALE_MINOR_LEAST, /* of the copy with the least */
	SCALE_MINOR_MOST,
	SCALE_MAJOR,
	SCALE_RSS, /* bytes; of its largest process */
	SCALE_RSS_MOST,
	SCALE_VOLUNTARY,
	SCALE_INVOLUNTARY,
	SCALE_MIGRATIONS,
	SCALE_CYCLES,
	SCALE_INSTRUCTIONS,
	SCALE_FAILED,   /* copies that did not end with status 0; the most of all rounds */
	SCALE_CAPACITY, /* the time that all CPUs of the machine had */
	SCALE_FOREIGN,  /* of it: used by others, copies and auger apart */
	SCALE_STEAL,    /* of it: taken by the host of a virtual machine */
	SCALE_EVENTS,   /* [SCALE_EVENT_COUNT]: of the machine, as event_names */
	SCALE_METRICS = SCALE_EVENTS + 5
};

#define SCALE_EVENT_COUNT (SCALE_METRICS - SCALE_EVENTS)

#define SCALE_NONE (-1) /* unknown */

struct scale_step {
	int64_t copies;
	int64_t metrics[SCALE_METRICS]; /* nanoseconds and counts, or SCALE_NONE */
};

struct scale {
	const char *command;
	int64_t rounds; /* that metrics are the medians of */
	int64_t cpus;   /* that the command may use, in thousandths: a quota may give parts */
	bool is_pinned;
	const struct scale_step *steps; /* [step_count], ascending; at least 1 */
	size_t step_count;
	const char *const *event_names; /* [SCALE_EVENT_COUNT] */
};

/* The wall time of the first step through that of this one, in that of CPUs that each copy has:
 * 1 is the best. */
double scale_efficiency(const struct scale *s, const struct scale_step *step);
double scale_adjusted_efficiency(const struct scale *s, const struct scale_step *step);
double scale_cpu_efficiency(const struct scale *s, const struct scale_step *step);

/* How many copies share a CPU; at least 1. */
double scale_sharing(const struct scale *s, const struct scale_step *step);

#endif
