/* SPDX-License-Identifier: MIT */
/*
 * storage: the interface through which a cache reads the tree behind it, such as a local folder
 * or the parent node of an overlay.
 *
 * Paths are relative to the tree's root: "" is the root, "a/b" a file below it. An implementation
 * never follows a symbolic link in a path. Several threads may call it at once, and a call may
 * block as long as the storage does. All calls return 0 or the storage's -errno.
 */
#ifndef CACHEFS_STORE_STORAGE_H
#define CACHEFS_STORE_STORAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "cachefs/store/dirlist.h"

struct storage_ops {
	/* st_ino is unique in the whole tree, also where it spans several devices. */
	int (*lookup)(void *self, const char *path, struct stat *ret);

	/*
	 * Looks up count names of the folder at path, starting at the index from: ret[i] and
	 * ret_rc[i] are the result of each. Slow storage may stop early, after *ret_count names,
	 * because no process has requested these attributes yet.
	 */
	int (*lookup_names)(void *self, const char *path, const struct dirlist *names, size_t from,
			    size_t count, struct stat *ret, int *ret_rc, size_t *ret_count);

	/* At most max_entries names, else -E2BIG. The caller owns *ret. */
	int (*list)(void *self, const char *path, size_t max_entries, struct dirlist **ret);

	/*
	 * Fills into[0..len) from offset, and less only at the end of the file. same: the
	 * attributes that lookup returned; -ESTALE when the file was replaced or changed since.
	 */
	int (*read_chunk)(void *self, const char *path, const struct stat *same, uint64_t offset,
			  void *into, size_t len, size_t *ret_len);

	int (*read_link)(void *self, const char *path, struct buf *ret);

	/* The value; or, when name is NULL, all names, each followed by a NUL. */
	int (*xattr)(void *self, const char *path, const char *name, struct buf *ret);

	/* lseek(2) with SEEK_DATA or SEEK_HOLE. */
	int (*seek)(void *self, const char *path, uint64_t offset, int whence, uint64_t *ret);

	int (*stat_fs)(void *self, const char *path, struct statvfs *ret);
};

struct storage {
	const struct storage_ops *ops;
	void *self;
};

struct storage_counts {
	_Atomic uint64_t calls;
	_Atomic uint64_t failures;   /* calls that failed with EIO, EACCES and the like */
	_Atomic uint64_t timeouts;   /* callers that waited longer than the storage timeout */
	_Atomic uint64_t interrupts; /* callers that were killed while they waited */
};

#endif
