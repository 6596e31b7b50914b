/* SPDX-License-Identifier: MIT */
/*
 * label_roots: stacks by label: a new outermost frame has the value of a label, so that a picture
 * has a root for each thread, process or rank.
 *
 * key is a label ("comm", "pid", "rank"), or "thread": comm and tid. Samples without it get the
 * frame
 * "[no KEY]". *ret is a new profile with all else of src, the caller's. -ENOENT: no sample has it.
 */
#ifndef MODEL_LABEL_ROOTS_H
#define MODEL_LABEL_ROOTS_H

#include "base/err.h"
#include "model/profile.h"

int profile_label_roots(const struct profile *src, const char *key, struct profile **ret,
			struct err *e) MUST_CHECK;

#endif
