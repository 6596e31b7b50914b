/* SPDX-License-Identifier: MIT */
/*
 * activity: what the time of a sample was spent on: a class of activity ("mpi.collective",
 * "io.file", "memory"), by rules for the names in its stack. data/classes says how a rule looks,
 * and has ours.
 */
#ifndef VIEW_ACTIVITY_H
#define VIEW_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "model/profile.h"

#define ACTIVITY_LABEL "class"   /* the label that samples get */
#define ACTIVITY_OTHER "compute" /* what no rule matches */
#define ACTIVITY_RULES_MAX 1000
#define ACTIVITY_CLASS_MAX 64 /* bytes of a class' name */

/* All zero: no rules. */
struct activity {
	struct rows rules; /* struct activity_rule, activity.c; the first decides */
	struct buf texts;  /* their patterns */
};

/* Adds rules behind those that are there: first the user's, then ours. -EINVAL with the line; from:
 * the text's name. */
int activity_add(struct activity *a, const char *text, size_t len, const char *from,
		 struct err *e) MUST_CHECK;
int activity_add_ours(struct activity *a, struct err *e) MUST_CHECK;
void activity_fini(struct activity *a);

/* Does a class' time depend on when other ranks or threads come? */
bool activity_is_waiting(const char *class);

/* What was spent on a class. */
struct activity_sum {
	char class[ACTIVITY_CLASS_MAX];
	int64_t value; /* of the sample type, not 0; a sum stays in its range */
};

/* One for each class (struct activity_sum, in ret, which the caller frees), largest first. On
 * failure ret is empty. */
int activity_sum(const struct profile *p, const struct activity *a, size_t type, struct rows *ret,
		 struct err *e) MUST_CHECK;

/* Replaces *p by a profile whose samples have the label ACTIVITY_LABEL, and keep their times. On
 * failure *p is still valid. */
int profile_label_activities(struct profile **p, const struct activity *a,
			     struct err *e) MUST_CHECK;

#endif
