/* SPDX-License-Identifier: MIT */
/*
 * speedscope_read: reads the JSON of speedscope.app, which py-spy, rbspy, ghc-prof and others
 * write.
 *
 * A sampled profile has weights, an evented one the times at which frames open and close. Times
 * become nanoseconds. With several profiles in a file, the label `profile` has the name of each. A
 * frame that closes out of order closes those on top of it; that is counted in a warning.
 *
 * Source: https://www.speedscope.app/file-format-schema.json
 */
#ifndef FORMAT_JSON_SPEEDSCOPE_READ_H
#define FORMAT_JSON_SPEEDSCOPE_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

/* Stands between the sample type and the rest of the name of a thread's time line that auger wrote.
 */
#define SPEEDSCOPE_THREAD " (pid "

bool speedscope_detect(const unsigned char *data, size_t len);
int speedscope_read(struct profile *p, const unsigned char *data, size_t len,
		    struct err *e) MUST_CHECK;

#endif
