/* SPDX-License-Identifier: MIT */
/*
 * spool: what a recording has sampled so far, in a file that survives our end.
 *
 * The file is a journal (format/pprof/journal.h), which all readers of profiles read. Once a second
 * it gets what is new. When it has twice the size of the profile it is replaced by one without
 * repetitions, so it grows with distinct stacks, not with time. Only its owner may read it.
 *
 * It is beside the output as OUTPUT.spool, but in $TMPDIR or /tmp when the output is no regular
 * file or is on another machine's file system, whose calls may block. When it cannot be written
 * any more it goes on in the next of these places. Failures are logged by LOG_WARN and end nothing.
 */
#ifndef SOURCE_SPOOL_H
#define SOURCE_SPOOL_H

#include <stdbool.h>

#include "base/macros.h"
#include "model/profile.h"

#define SPOOL_ENDING ".spool"

struct spool;

/* output: the path of -o, "-" is standard output; borrowed. p has its types and outlives it; its
 * duration is set at each step. NULL: out of memory. */
struct spool *spool_new(const char *output, struct profile *p) MUST_CHECK;

/* Called often; writes once a second. */
void spool_step(struct spool *s);

/* All is sampled. A spool that is elsewhere because the output is on another machine is moved
 * beside the output. */
void spool_complete(struct spool *s);

/* Removes the file, or keeps it and logs its name. NULL is allowed. */
void spool_free(struct spool *s, bool is_kept);

/* Is this spool still written to? */
bool spool_is_active(const char *path);

#endif
