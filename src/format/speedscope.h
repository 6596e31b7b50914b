/* SPDX-License-Identifier: MIT */
/*
 * speedscope: writes the JSON of speedscope.app.
 *
 * Each sample type is a "sampled" profile of weights, in no order; the default one is shown first.
 * Stacks that differ only in labels are merged there. Of times that the profile has when they were
 * spent (format/thread_rows.h), each thread is a profile in order of time, too, "TYPE (pid 1, tid
 * 2) NAME": what is not sampled is an empty stack. They repeat the sums, so our reader passes them
 * over. Values below 1 are left out: a weight must not be negative.
 *
 * Source: https://www.speedscope.app/file-format-schema.json
 */
#ifndef FORMAT_SPEEDSCOPE_H
#define FORMAT_SPEEDSCOPE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "format/format.h"
#include "model/profile.h"

extern const struct format format_speedscope;

int speedscope_write(const struct profile *p, struct buf *out, struct err *e) MUST_CHECK;

#endif
