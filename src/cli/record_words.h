/* SPDX-License-Identifier: MIT */
/* record_words: prints how a recording was made, and what it found. */
#ifndef CLI_RECORD_WORDS_H
#define CLI_RECORD_WORDS_H

#include "model/profile.h"
#include "sample/recording.h"

/* To standard error: how much was sampled, the hottest functions, what to type next. path as
 * for record_write(). */
void record_print_summary(const struct profile *p, const struct recording_opts *o,
			  const struct recording *c, const struct recording_result *r,
			  const char *path);

/* The same of a profile that a spool gave. */
void record_print_recovered(const struct profile *p, const char *path);

#endif
