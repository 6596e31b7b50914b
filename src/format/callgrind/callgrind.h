/* SPDX-License-Identifier: MIT */
/*
 * callgrind: reads and writes the format of KCachegrind and callgrind_annotate: costs by function,
 * line and call.
 *
 * All sample types are events, the default one first. The cost of a call is the sum of the samples
 * beneath it; a sample counts once even if the call is in its stack several times. The number of
 * calls is unknown, so the number of samples stands for it. An inlined function is called by the
 * function it is inlined into.
 *
 * Source: valgrind's manual, "Callgrind Format Specification".
 */
#ifndef FORMAT_CALLGRIND_CALLGRIND_H
#define FORMAT_CALLGRIND_CALLGRIND_H

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "format/format.h"
#include "model/profile.h"

extern const struct format format_callgrind;

/* Of its files only functions and calls are read, which become stacks (format/callgrind/graph.h):
 * instructions, lines, objects and jumps are left out. -EINVAL: "line N: reason". */
bool callgrind_detect(const unsigned char *data, size_t len);
int callgrind_read(struct profile *p, const unsigned char *data, size_t len,
		   struct err *e) MUST_CHECK;

/* -EINVAL when a value is negative or there is no sample type. */
int callgrind_write(const struct profile *p, struct buf *out, struct err *e) MUST_CHECK;

#endif
