/* SPDX-License-Identifier: MIT */
/*
 * access: permission checks where the kernel makes none: for a view that only its owner can enter,
 * and for one where only storage can tell (cache_asks_rights).
 *
 * The first reads the target as its owner. Processes of root may have dropped capabilities that the
 * daemon still has: they have no more rights than modes and access lists give, even where storage
 * grants them to root.
 */
#ifndef CACHEFS_STORE_ACCESS_H
#define CACHEFS_STORE_ACCESS_H

#include "cachefs/store/cache.h"

/*
 * wanted: R_OK, W_OK and X_OK of access(2). w->caller is a thread of our own user; 0: not known,
 * then it has no capabilities. 0, CACHE_PARKED or -errno. An access list takes precedence over the
 * mode; it is fetched from storage for files of other owners. Where only storage can tell, w->who
 * is who asks.
 */
int access_check(struct cache *c, struct waiter *w, struct node *n, int wanted) MUST_CHECK;

#endif
