/* SPDX-License-Identifier: MIT */
/* record_words: prints how a recording was made, and what it found. */
#ifndef CLI_RECORD_WORDS_H
#define CLI_RECORD_WORDS_H

#include "model/profile.h"
#include "sample/recording.h"
#include "source/record_output.h"

/* To standard error: how much was sampled, the hottest functions, what to type next. path as
 * for record_write(). */
void record_print_summary(const struct profile *p, const struct recording_opts *o,
			  const struct recording *c, const struct recording_result *r,
			  const char *path);

/* To standard error: which rank the summary is of, and where those of the others are. Nothing when
 * there is no other. */
void record_print_rank(const struct record_output *output);

/* The summary of a profile that a spool gave. */
void record_print_recovered(const struct profile *p, const char *path);

#endif
