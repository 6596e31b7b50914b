/* SPDX-License-Identifier: MIT */
/*
 * storage: where the tree behind a cache is read from: a folder of this machine, or the node
 * above in an overlay.
 *
 * Paths are relative to the tree's root: "" is the root, "a/b" what is below; no component of
 * them is a symbolic link to be followed. Every call may come from several threads at once and
 * may take as long as the storage takes. All return 0 or -errno as the storage said it.
 */
#ifndef CACHEFS_STORE_STORAGE_H
#define CACHEFS_STORE_STORAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "cachefs/store/dirlist.h"

struct storage_ops {
	/* st_ino tells files of the whole tree apart, also over several devices. */
	int (*lookup)(void *self, const char *path, struct stat *ret);

	/*
	 * lookup of count names of the folder at path, from the one on: ret[i] and ret_rc[i] of
	 * each. Where storage is slow it stops early, having done *ret_count of them: nobody
	 * has asked for these yet.
	 */
	int (*lookup_names)(void *self, const char *path, const struct dirlist *names, size_t from,
			    size_t count, struct stat *ret, int *ret_rc, size_t *ret_count);

	/* At most max_entries names, else -E2BIG. *ret belongs to the caller. */
	int (*list)(void *self, const char *path, size_t max_entries, struct dirlist **ret);

	/*
	 * Fills into[0..len) from offset; less only at the end of the file. same: what lookup
	 * said of the file; -ESTALE when it is another one, or changed.
	 */
	int (*read_chunk)(void *self, const char *path, const struct stat *same, uint64_t offset,
			  void *into, size_t len, size_t *ret_len);

	int (*read_link)(void *self, const char *path, struct buf *ret);

	/* The value, or all names (NUL behind each) when name is NULL. */
	int (*xattr)(void *self, const char *path, const char *name, struct buf *ret);

	/* lseek(2) with SEEK_DATA or SEEK_HOLE. */
	int (*seek)(void *self, const char *path, uint64_t offset, int whence, uint64_t *ret);

	int (*stat_fs)(void *self, const char *path, struct statvfs *ret);
};

struct storage {
	const struct storage_ops *ops;
	void *self;
};

#endif
