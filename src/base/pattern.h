/* SPDX-License-Identifier: MIT */
/*
 * pattern: a user's POSIX extended regular expression (regex(7)) for names.
 *
 * All zero is a pattern that matches nothing. A pattern remembers an allocation failure during
 * matching; pattern_error() reports it once at the end.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include <regex.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"

struct pattern {
	regex_t regex;
	bool is_set, is_whole;
	bool bad; /* memory ran out; for good */
};

/* Found anywhere in the text. A bad regular expression is -EINVAL. */
int pattern_init(struct pattern *p, const char *regex, struct err *e) MUST_CHECK;
/* The whole text must match. */
int pattern_init_whole(struct pattern *p, const char *regex, struct err *e) MUST_CHECK;
void pattern_fini(struct pattern *p);

bool pattern_matches(struct pattern *p, const char *text);

/* 0, or -ENOMEM when any match so far could not be tried. */
int pattern_error(const struct pattern *p) MUST_CHECK;

#endif
