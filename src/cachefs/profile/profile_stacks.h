/* SPDX-License-Identifier: MIT */
/*
 * profile_stacks: what was asked of paths as a profile: the components of a path are its stack.
 *
 * A component is a function whose source file is the folder that it stands in, "/" at the end, so
 * that files of one name in several folders are told apart. "[others]" are the paths of a folder
 * that are no more known one by one.
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
