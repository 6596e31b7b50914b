/* SPDX-License-Identifier: MIT */
/*
 * rank_profile: the paths of a rank from its profile, as the rows that its tables of events have.
 *
 * Source: cachefs/profile/profile_stacks.h; format/pprof.
 */
#ifndef CACHEJOB_RANK_PROFILE_H
#define CACHEJOB_RANK_PROFILE_H

#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "cachejob/rank_file.h"

struct rank_profile;

/* bytes: [0..len) of a profile.pb.gz. -EINVAL: the reason; -ENOMEM. */
int rank_profile_read(const void *bytes, size_t len, struct rank_profile **ret,
		      struct err *e) MUST_CHECK;
void rank_profile_free(struct rank_profile *p); /* NULL is allowed */

/* kind: a table of events, or RANK_COSTS. struct rank_row each; borrowed from p. */
const struct rows *rank_profile_rows(const struct rank_profile *p, enum rank_file kind);

#endif
