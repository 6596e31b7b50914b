/* SPDX-License-Identifier: MIT */
/* profile_delta: the samples added to a growing profile since the last call, for live views. */
#ifndef MODEL_PROFILE_DELTA_H
#define MODEL_PROFILE_DELTA_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/profile.h"

/* All zero is before the first look. */
struct profile_delta {
	int64_t *values; /* [sample_count * type_count] as they were; owned */
	size_t sample_count;
};

/* *ret: a new profile, the caller's, with the samples of p less what they were at the last
 * call; those that did not change are left out. p must be the same each time. */
int profile_delta_take(struct profile_delta *s, const struct profile *p, struct profile **ret,
		       struct err *e) MUST_CHECK;
void profile_delta_fini(struct profile_delta *s);

#endif
