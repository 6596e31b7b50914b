/* SPDX-License-Identifier: MIT */
/* profile_classes: the paths of a rank by class, with advice, in Markdown. */
#ifndef CACHEFS_PROFILE_PROFILE_CLASSES_H
#define CACHEFS_PROFILE_PROFILE_CLASSES_H

#include "base/buf.h"
#include "cachefs/profile/profile_facts.h"

/* Appends two sections. -ENOMEM. */
int profile_put_classes(const struct profile_facts *f, struct buf *out) MUST_CHECK;

#endif
