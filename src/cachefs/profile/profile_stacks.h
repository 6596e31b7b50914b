/* SPDX-License-Identifier: MIT */
/*
 * profile_stacks: the requests by path as a profile: the components of a path are its stack.
 *
 * A component is a function, and its source file is its folder with a "/" at the end, so that equal
 * names in several folders differ. "[others]" sums the evicted paths of a folder.
 *
 * Sample types: calls/count, bytes/bytes, time/nanoseconds, which is the default. Labels:
 * operation (getattr, read, readdir) and result (hit, miss, negative).
 */
#ifndef CACHEFS_PROFILE_PROFILE_STACKS_H
#define CACHEFS_PROFILE_PROFILE_STACKS_H

#include "cachefs/profile/profile_facts.h"
#include "model/profile.h"

int profile_make_stacks(const struct profile_facts *f, struct profile **ret,
			struct err *e) MUST_CHECK;

#endif
