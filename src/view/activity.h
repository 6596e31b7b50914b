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

/* Appends a function's name as rules see it: "MPI_Send" of "PMPI_Send". */
void activity_put_name(struct buf *out, const char *name);

/* Does a class' time depend on when other ranks or threads come? */
bool activity_is_waiting(const char *class);

#define ACTIVITY_MPI "mpi"

/* What was spent on a family of classes: those with the same name up to the first dot. */
struct activity_sum {
	char family[ACTIVITY_CLASS_MAX];
	int64_t value; /* of the sample type, not 0; a sum stays in its range */
	/* Of ACTIVITY_MPI: the function of MPI, and its caller outside of the library, that
	 * together have most of it; operation 0: not known. caller 0: the operation is outermost.
	 */
	uint32_t operation, caller;
	int64_t call_value;
};

/* One for each family (struct activity_sum, in ret, which the caller frees), largest first. On
 * failure ret is empty. */
int activity_sum(const struct profile *p, const struct activity *a, size_t type, struct rows *ret,
		 struct err *e) MUST_CHECK;

/* Replaces *p by a profile whose samples have the label ACTIVITY_LABEL, and keep their times. On
 * failure *p is still valid. */
int profile_label_activities(struct profile **p, const struct activity *a,
			     struct err *e) MUST_CHECK;

#endif
