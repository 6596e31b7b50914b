/* SPDX-License-Identifier: MIT */
/*
 * script_frames: keeps the frames of scripts, e.g. Python's, and leaves native ones out: their cost
 * becomes that of the script's functions that called them.
 *
 * A frame is a script's when its mapping is its source file. A stack without one becomes
 * "[native]".
 */
#ifndef MODEL_SCRIPT_FRAMES_H
#define MODEL_SCRIPT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

bool profile_is_script(const struct profile *p, uint32_t location);

/* Replaces *p. On failure *p is still valid. */
int profile_keep_scripts(struct profile **p, struct err *e) MUST_CHECK;

#endif
