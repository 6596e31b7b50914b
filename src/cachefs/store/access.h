/* SPDX-License-Identifier: MIT */
/*
 * access: who may do what, where the kernel does not look: in a view of one user's own, which
 * the kernel lets nobody else into, and which reads the target as that user. Programs of root may
 * have given up capabilities that we have.
 */
#ifndef CACHEFS_STORE_ACCESS_H
#define CACHEFS_STORE_ACCESS_H

#include "cachefs/store/cache.h"

/*
 * wanted: R_OK, W_OK and X_OK of access(2), by a thread of the user we are; 0: unknown, without
 * capabilities. 0 or -errno. An access list counts instead of the modes: storage is asked for it,
 * of what is not ours.
 */
int access_check(struct cache *c, struct node *n, int wanted, pid_t thread) MUST_CHECK;

#endif
