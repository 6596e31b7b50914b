/* SPDX-License-Identifier: MIT */
/*
 * record_words: what a recording says of itself, in the profile's comments and to the user.
 */
#ifndef CLI_RECORD_WORDS_H
#define CLI_RECORD_WORDS_H

#include "model/profile.h"
#include "sample/cpu.h"

/* What was run, where, how, and how well it went, one comment each; period, time and
 * duration, too. */
void record_put_comments(struct profile *p, const struct cpu_opts *o, const struct cpu *c,
			 const struct cpu_result *r);

/* To standard error: how much was sampled, the hottest functions, what to type next. path as
 * for record_write(). */
void record_print_summary(const struct profile *p, const struct cpu_opts *o, const struct cpu *c,
			  const struct cpu_result *r, const char *path);

#endif
