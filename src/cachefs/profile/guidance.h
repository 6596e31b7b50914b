/* SPDX-License-Identifier: MIT */
/* guidance: what to do about the paths of a rank or of all, in Markdown. */
#ifndef CACHEFS_PROFILE_GUIDANCE_H
#define CACHEFS_PROFILE_GUIDANCE_H

#include "base/buf.h"
#include "cachejob/path_sums.h"

/* Appends one line with "- " for each advice that the classes give reason to. absent_serves: how
 * often a name that was known to be absent was the answer. */
void guidance_put(struct buf *out, const struct path_sums *sums, struct figure absent_serves);

#endif
