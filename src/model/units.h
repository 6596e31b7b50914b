/* SPDX-License-Identifier: MIT */
/*
 * units: a value in words, by the unit that comes with it as data.
 *
 * Times are shown to three digits in the largest unit that leaves a whole number
 * ("1.23 s", "45.6 ms"), sizes in powers of 1024 with one decimal ("4.0 MiB"), counts with
 * all their digits; a unit that is not known is put behind the digits ("12 requests").
 * 0 is "0" in any unit.
 */
#ifndef MODEL_UNITS_H
#define MODEL_UNITS_H

#include <stdint.h>

#include "base/buf.h"

/* unit: pprof's name of it ("nanoseconds", "ms", "bytes", "count", ...), in any case. */
void units_put(struct buf *out, int64_t value, const char *unit);

#endif
