/* SPDX-License-Identifier: MIT */
/* profile_summary: profiling_summary.md, with Copper's headings, followed by ours. */
#ifndef CACHEFS_PROFILE_PROFILE_SUMMARY_H
#define CACHEFS_PROFILE_PROFILE_SUMMARY_H

#include "base/buf.h"
#include "cachefs/profile/profile_facts.h"

/* -ENOMEM. */
int profile_put_summary(const struct profile_facts *f, struct buf *out) MUST_CHECK;

#endif
