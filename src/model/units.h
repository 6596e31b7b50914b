/* SPDX-License-Identifier: MIT */
/*
 * units: formats a value by the unit that comes with it as data.
 *
 * Times have three digits in the largest unit that leaves a whole number ("1.23 s", "45.6 ms"),
 * sizes are in powers of 1024 with one decimal ("4.0 MiB"), counts have all their digits. An
 * unknown unit follows the digits ("12 requests"). 0 is "0" in any unit.
 */
#ifndef MODEL_UNITS_H
#define MODEL_UNITS_H

#include <stdint.h>

#include "base/buf.h"

/* unit: pprof's name of it ("nanoseconds", "ms", "bytes", "count", ...), in any case. */
void units_put(struct buf *out, int64_t value, const char *unit);

/* "4,660": digits in groups of three. */
void units_put_grouped(struct buf *out, uint64_t value);

#endif
