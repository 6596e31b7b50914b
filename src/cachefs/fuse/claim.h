/* SPDX-License-Identifier: MIT */
/* claim: one view is mounted once, also when several processes try at the same time. */
#ifndef CACHEFS_FUSE_CLAIM_H
#define CACHEFS_FUSE_CLAIM_H

#include "base/err.h"
#include "base/macros.h"

/* view, target: absolute. Ends a view there whose daemon has died. 0: no view is mounted there;
 * -EALREADY: one of ours, of the same target; -EBUSY: another one. e names the process that serves
 * what. */
int claim_check(const char *view, const char *target, struct err *e) MUST_CHECK;

/* The same, and until *ret_lock is unlocked no other process passes. *ret_lock is -1 where the
 * folder cannot be locked: not ours to read, or on a file system without flock(2). -EBUSY, too:
 * another process has been about to mount there for CLAIM_MS. */
#define CLAIM_MS 10000
int claim_take(const char *view, const char *target, int *ret_lock, struct err *e) MUST_CHECK;

/* For a short time, while the view is not mounted. Waits for other processes, at most CLAIM_MS. -1
 * is allowed. */
void claim_lock(int lock);
void claim_unlock(int lock);

#endif
