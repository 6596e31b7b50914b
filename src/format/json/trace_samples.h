/* SPDX-License-Identifier: MIT */
/*
 * trace_samples: samples of a trace and its stack frames, a tree by identifiers.
 *
 * Frames and samples may come in any order. A frame that is nowhere is the root.
 */
#ifndef FORMAT_JSON_TRACE_SAMPLES_H
#define FORMAT_JSON_TRACE_SAMPLES_H

#include "base/err.h"
#include "base/json_read.h"
#include "base/macros.h"
#include "base/rows.h"
#include "format/json/trace_threads.h"
#include "format/text_cache.h"
#include "model/profile.h"

/* All zero is empty. */
struct trace_samples {
	struct rows rows;      /* struct trace_sample */
	struct rows frames;    /* struct trace_frame */
	struct text_cache ids; /* index in frames, by identifier */
	struct rows path;      /* uint32_t: of a frame that is placed */
	struct buf scratch;
};

void trace_samples_fini(struct trace_samples *s);

/* A sample of this thread (trace_threads) and the frame of this identifier. 0 or -ENOMEM. */
int trace_samples_put(struct trace_samples *s, uint32_t thread, struct json_text frame,
		      int64_t weight) MUST_CHECK;

/* Read "stackFrames", an object, and "samples", an array. -ENOMEM. */
int trace_samples_read_frames(struct trace_samples *s, struct profile *p, struct json *j,
			      struct err *e) MUST_CHECK;
int trace_samples_read(struct trace_samples *s, struct trace_threads *threads, struct json *j,
		       struct err *e) MUST_CHECK;

/* Adds all samples to p, with the label sets of threads. -EINVAL: parents make a circle. */
int trace_samples_add(struct trace_samples *s, struct profile *p, size_t type,
		      const uint32_t *labels, struct err *e) MUST_CHECK;

#endif
