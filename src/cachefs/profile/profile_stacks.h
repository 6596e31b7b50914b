/* SPDX-License-Identifier: MIT */
/*
 * profile_stacks: the requests by path as a profile: the components of a path are its stack.
 *
 * A component is a function, and its source file is its folder with a "/" at the end, so that equal
 * names in several folders differ. "[others]" sums the evicted paths of a folder.
 *
 * Sample types: calls/count, bytes/bytes, time/nanoseconds, which is the default, and
 * negative_entries/count. Labels: operation and result, named below; what happened to negative
 * entries is the operation negative_entry. A path that is not UTF-8 has its bytes as a label of
 * hexadecimal digits.
 */
#ifndef CACHEFS_PROFILE_PROFILE_STACKS_H
#define CACHEFS_PROFILE_PROFILE_STACKS_H

#include "cachefs/profile/profile_facts.h"
#include "model/profile.h"

#define PROFILE_STACKS_NEGATIVE "negative_entry"
#define PROFILE_STACKS_BYTES "path_bytes"
#define PROFILE_STACKS_EVICTED "evicted" /* "yes": a sum of evicted paths */
extern const char *const profile_stacks_operations[PATH_CLASSES];
extern const char *const profile_stacks_results[PATH_RESULTS];
extern const char *const profile_stacks_events[NEGATIVE_EVENTS];

int profile_make_stacks(const struct profile_facts *f, struct profile **ret,
			struct err *e) MUST_CHECK;

#endif
