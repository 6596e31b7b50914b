/* SPDX-License-Identifier: MIT */
/* slowest: the paths of a cache whose requests took longest. */
#ifndef CACHEFS_PROFILE_SLOWEST_H
#define CACHEFS_PROFILE_SLOWEST_H

#include "cachefs/profile/control.h"
#include "cachefs/store/cache.h"

/* target: the path of the cache's root. Requests go on meanwhile. 0 or -ENOMEM. */
int slowest_read(struct cache *c, const char *target, struct control_slowest *ret) MUST_CHECK;

#endif
