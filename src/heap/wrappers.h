/* SPDX-License-Identifier: MIT */
/*
 * wrappers: functions that allocate for their caller (data/heap/wrappers.txt), so that views show
 * who wants the memory.
 */
#ifndef HEAP_WRAPPERS_H
#define HEAP_WRAPPERS_H

#include "base/buf.h"

/* Appends all of them as one regular expression, for pprof's drop_frames. */
void wrappers_put_pattern(struct buf *out);

#endif
