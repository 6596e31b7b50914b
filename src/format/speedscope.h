/* SPDX-License-Identifier: MIT */
/*
 * speedscope: writes the JSON of speedscope.app.
 *
 * Each sample type is a "sampled" profile, the default one first. Stacks that differ only in
 * labels are merged. Values below 1 are left out: a weight must not be negative.
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
