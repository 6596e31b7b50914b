/* SPDX-License-Identifier: MIT */
/* save: from a profile to the output file of a command line. */
#ifndef SOURCE_SAVE_H
#define SOURCE_SAVE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"
#include "format/formats.h"
#include "model/profile.h"

struct output {
	const char *path; /* "-": standard output; borrowed */
	const struct format *format;
	bool is_new; /* a file that is there is not replaced: saving is -EEXIST */
};

/*
 * Asked before long work. path: of -o, NULL: standard output. to: of --to, NULL: by the ending
 * of path. fallback: the name of the format when neither decides; a path with an
 * unknown ending, or NULL: that is wrong usage, and so is what is no text on a terminal. Fails when
 * the file cannot be written.
 */
int choose_output(const char *path, const char *to, const char *fallback, struct output *ret,
		  struct err *e) MUST_CHECK;

/* Writes all or nothing. */
int save_profile(const struct profile *p, const struct output *o, struct err *e) MUST_CHECK;

#endif
