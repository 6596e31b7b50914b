/* SPDX-License-Identifier: MIT */
/*
 * prune: takes out the frames that a profile itself says are of no interest.
 *
 * A frame whose function's name as a whole matches drop_frames, and not keep_frames, goes with
 * all that it calls, whose cost is its caller's then. Arguments are no part of a name. Frames
 * before the first that does not match stay, or nothing would be left.
 * Source: profile.proto (drop_frames, keep_frames); its regular expressions are RE2's, here
 * they are taken as POSIX extended ones.
 */
#ifndef MODEL_PRUNE_H
#define MODEL_PRUNE_H

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

/* Replaces *p, if it says so. -EINVAL: a regular expression is not understood; *p is as before. */
int profile_prune(struct profile **p, struct err *e) MUST_CHECK;

#endif
