/* SPDX-License-Identifier: MIT */
/*
 * wall: the wall clock of threads, from their time on and off the CPU.
 *
 * *ret: a new profile, the caller's, with the sample types of src and wall/nanoseconds, their
 * sum, the type to show first. What is off the CPU gets a frame on top that says why: the label
 * "state" in brackets, "[off the CPU]" without one. -EINVAL: src has not both times.
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
