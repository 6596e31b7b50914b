/* SPDX-License-Identifier: MIT */
/*
 * wall: adds the wall clock of threads to a profile: time on the CPU plus time off it.
 *
 * *ret: a new profile, the caller's, with the sample types of src and wall/nanoseconds, their sum,
 * which is shown first. Off-CPU time gets a frame on top with the reason: the label "state" in
 * brackets, or "[off the CPU]" without one. -EINVAL: src lacks one of the two times.
 */
#ifndef MODEL_WALL_H
#define MODEL_WALL_H

#include <stddef.h>

#include "base/err.h"
#include "model/profile.h"

struct wall_types {
	size_t wall, off; /* indices of the sum, and of what of it is off the CPU */
};

int profile_wall(const struct profile *src, struct profile **ret, struct wall_types *ret_types,
		 struct err *e) MUST_CHECK;

#endif
