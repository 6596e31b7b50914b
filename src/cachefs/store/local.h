/* SPDX-License-Identifier: MIT */
/*
 * local: a folder of this machine as storage.
 *
 * A file's number is its st_ino on the folder's own device, and a hash of both on devices
 * that are mounted below it, so that numbers tell files apart. Symbolic links are never
 * followed on the way to a file, whoever puts one there while we look.
 */
#ifndef CACHEFS_STORE_LOCAL_H
#define CACHEFS_STORE_LOCAL_H

#include <sys/types.h>

#include "base/err.h"
#include "cachefs/store/storage.h"

struct local;

/* hidden: a path below target, as storage's, that is not shown; NULL: none. Copied. */
int local_open(const char *target, const char *hidden, struct local **ret,
	       struct err *e) MUST_CHECK;
void local_close(struct local *l);

/* What is on this device is not shown either: our own mount, by whatever path. Call before
 * other threads use l. */
void local_hide_device(struct local *l, dev_t device);

struct storage local_storage(struct local *l); /* valid until local_close */

#endif
