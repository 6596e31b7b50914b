/* SPDX-License-Identifier: MIT */
/*
 * sample_times: when the values of a profile's samples were taken, in buckets of time.
 *
 * An entry adds a value of one sample type to a sample (node, labels) in one bucket. Time 0 is the
 * first entry's. Memory is bounded: beyond SAMPLE_TIMES_MAX_ENTRIES, buckets double as long as
 * there are more than SAMPLE_TIMES_FINE_BUCKETS; then, of two entries of the same labels, type and
 * bucket, one takes the value of both, with the probability of its share. So the sum of each label
 * set, type and bucket stays exact, and each stack's is right on average.
 *
 * An entry of time off the CPU is in the bucket where the wait ends; it began its value before.
 */
#ifndef MODEL_SAMPLE_TIMES_H
#define MODEL_SAMPLE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/rows.h"

#define SAMPLE_TIMES_MAX_ENTRIES ((size_t)1 << 18)
#define SAMPLE_TIMES_FINE_BUCKETS 8192
#define SAMPLE_TIMES_FIRST_BUCKET_NS UINT64_C(1000000)

struct timed_value {
	uint32_t bucket; /* time / bucket_ns */
	uint32_t node;   /* of the profile */
	uint32_t labels; /* label-set id */
	uint16_t type;   /* index of the sample type */
	bool is_joined;  /* perf/joins.h may move it */
	int64_t value;   /* in the type's unit */
};

/* All zero is empty. */
struct sample_times {
	struct rows entries; /* struct timed_value */
	uint64_t start_ns;   /* time 0, on the clock of sample_times_add() */
	uint64_t bucket_ns;  /* 0: nothing was added */
	uint64_t random;     /* state of the generator */
	bool is_thinned;     /* stacks are right on average only */
	bool is_dropped;     /* no bound could be kept: empty for good */
};

void sample_times_fini(struct sample_times *t);

/* Adds e, whose bucket is that of time_ns. 0 or -ENOMEM. */
int sample_times_add(struct sample_times *t, uint64_t time_ns,
		     const struct timed_value *e) MUST_CHECK;

/* Sorts by labels, type, bucket, node; equal ones become one. */
void sample_times_settle(struct sample_times *t);

static inline struct timed_value *sample_times_at(const struct sample_times *t, size_t i)
{
	return (struct timed_value *)t->entries.data + i;
}

#endif
