/* SPDX-License-Identifier: MIT */
/*
 * local: a folder of this machine as storage.
 *
 * On the folder's own device, a file keeps its st_ino. On devices mounted below it, st_ino is a
 * hash of device and inode, so that numbers stay unique. No call follows a symbolic link, even one
 * that another process puts in the path meanwhile.
 *
 * A file that is being read stays open between reads (see open_files.h). Each read compares the
 * attributes of the descriptor with those of the lookup. A file that was renamed or replaced since
 * it was opened is opened again.
 */
#ifndef CACHEFS_STORE_LOCAL_H
#define CACHEFS_STORE_LOCAL_H

#include <sys/types.h>

#include "base/err.h"
#include "cachefs/store/storage.h"

struct local;

/* hidden: a path relative to target that storage reports as ENOENT; copied; NULL: none. */
int local_open(const char *target, const char *hidden, struct local **ret,
	       struct err *e) MUST_CHECK;
void local_close(struct local *l);

/* Also hides all files of this device: our own mount, by any path. Call it before other threads
 * use l. */
void local_hide_device(struct local *l, dev_t device);

/*
 * Names file systems in st_dev by what fs_of returns for their device, in all replies, and makes
 * st_ino of that: so replies are the same on all nodes that mount them. Call it before other
 * threads use l. fs_of: any thread calls it; never 0.
 */
void local_name_devices(struct local *l, uint64_t (*fs_of)(void *context, dev_t device),
			void *context);

/* Do mode bits and POSIX access lists tell what a user may do in the folder? Not on file systems
 * with other lists, or whose server decides: then only storage can. Files mounted below it are not
 * considered. It makes two calls of storage. */
bool local_modes_tell(const struct local *l) MUST_CHECK;

struct storage local_storage(struct local *l); /* valid until local_close */

#endif
