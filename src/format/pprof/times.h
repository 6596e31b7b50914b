/* SPDX-License-Identifier: MIT */
/*
 * pprof_times: when samples were taken, as the message PROFILE_TIME_LINE at the end.
 *
 * A track is the values of one sample type of samples with the same labels, in order of time. Its
 * three lists have one number an entry. A bucket is the time since the first sample, divided by
 * the length of a bucket. Samples are numbered in the order of the file, from 0.
 *
 * A file has one such message at most. What writes samples anew and does not know the field must
 * not keep it.
 */
#ifndef FORMAT_PPROF_TIMES_H
#define FORMAT_PPROF_TIMES_H

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "model/profile.h"

enum pprof_times_field {
	TIMES_BUCKET_NS = 1,
	TIMES_IS_THINNED = 2,
	TIMES_TRACK = 3, /* a message; more of them */
};
enum pprof_track_field {
	TRACK_TYPE = 1,    /* index of the sample type */
	TRACK_BUCKETS = 2, /* packed: each less the one before, of the first less 0 */
	TRACK_SAMPLES = 3, /* packed */
	TRACK_VALUES = 4,  /* packed: likewise, zigzag coded */
};

/* A sample of the file, as the profile has it. */
struct pprof_sample_id {
	uint32_t node, labels;
};

/* Adds a message to the times of p. samples: struct pprof_sample_id, of the file's so far. */
int pprof_times_read(struct profile *p, const struct rows *samples, struct cursor message,
		     struct err *e) MUST_CHECK;

/* Appends the message to out; nothing when p has no times. 0 or -ENOMEM; also that of out. */
int pprof_times_put(const struct profile *p, struct buf *out) MUST_CHECK;

#endif
