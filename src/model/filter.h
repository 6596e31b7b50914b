/* SPDX-License-Identifier: MIT */
/*
 * filter: selects samples of a profile into a new profile.
 *
 * Regular expressions are POSIX extended (regex(7)) and match anywhere in the text. Frames match
 * by function name, else "[unknown]"; by source file; and by the mapping's path.
 */
#ifndef MODEL_FILTER_H
#define MODEL_FILTER_H

#include <stdbool.h>

#include "base/err.h"
#include "model/profile.h"

struct label_filter {
	const char *key;   /* "pid", "comm", "cpu" */
	const char *regex; /* of the value's text; numbers in decimal, whole text must match */
};

struct profile_filter {
	const char *focus;  /* regex: keep stacks with a frame that matches; NULL: all */
	const char *ignore; /* regex: drop stacks with a frame that matches; NULL: none */
	const struct label_filter *labels; /* [label_count]: all must match; same key: any */
	size_t label_count;
};

/* Does the filter keep everything? */
bool profile_filter_is_empty(const struct profile_filter *f);

/* A bad regular expression is -EINVAL. *ret is a new profile, owned by the caller. */
int profile_filter(const struct profile *src, const struct profile_filter *f, struct profile **ret,
		   struct err *e) MUST_CHECK;

#endif
