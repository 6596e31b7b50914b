/* SPDX-License-Identifier: MIT */
/*
 * prune: removes the frames that a profile declares uninteresting (drop_frames).
 *
 * A frame whose whole function name matches drop_frames, and not keep_frames, is removed with all
 * its callees; their value goes to its caller. Arguments are not part of a name. Frames before the
 * first one that does not match stay, so that the stack does not become empty.
 *
 * Source: profile.proto (drop_frames, keep_frames); its regular expressions are RE2's, here they
 * are read as POSIX extended ones.
 */
#ifndef MODEL_PRUNE_H
#define MODEL_PRUNE_H

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

/* Replaces *p, if it has such expressions. -EINVAL: a regular expression is not understood; *p is
 * as before. */
int profile_prune(struct profile **p, struct err *e) MUST_CHECK;

#endif
