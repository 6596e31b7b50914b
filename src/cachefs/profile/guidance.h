/* SPDX-License-Identifier: MIT */
/* guidance: advice on the paths of one rank or all, in Markdown. */
#ifndef CACHEFS_PROFILE_GUIDANCE_H
#define CACHEFS_PROFILE_GUIDANCE_H

#include "base/buf.h"
#include "cachefs/profile/path_sums.h"

/* Appends a list of the advice that applies to these classes. negative_serves: how many lookups a
 * negative entry answered. */
void guidance_put(struct buf *out, const struct path_sums *sums, struct decimal negative_serves);

#endif
