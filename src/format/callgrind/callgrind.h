/* SPDX-License-Identifier: MIT */
/*
 * callgrind: costs by function and line, and by call: KCachegrind, callgrind_annotate. Written
 * only.
 *
 * All sample types are events, the default one first. A call's cost is what was sampled beneath
 * it, once a sample however often it stands in the stack; how often it was made is not known,
 * so the number of samples stands for it. Inlined functions are called by what they are inlined
 * into.
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

/* -EINVAL when a value is negative or there is no sample type. */
int callgrind_write(const struct profile *p, struct buf *out, struct err *e) MUST_CHECK;

#endif
