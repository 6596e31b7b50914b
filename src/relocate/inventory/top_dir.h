/* SPDX-License-Identifier: MIT */
/*
 * top_dir: OLD and NEW, the two directories of a move.
 *
 * OLD is a mount point or a directory below one; NEW is on another file system. Both paths are
 * absolute and real in our mount namespace; a process of the job may see other paths.
 */
#ifndef RELOCATE_INVENTORY_TOP_DIR_H
#define RELOCATE_INVENTORY_TOP_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

struct top_dir {
	char *path;            /* absolute, without links and final '/'; owned */
	int fd;                /* the directory, O_RDONLY|O_DIRECTORY|O_CLOEXEC; owned; -1: none */
	int parent_fd;         /* the directory that has its name, O_PATH; owned; -1: it is '/' */
	int mount_fd;          /* see top_dir_clone_mount(); owned; -1: none */
	uint32_t dev_major;    /* of its file system, as in mountinfo */
	uint32_t dev_minor;    /* (on btrfs not those of stat) */
	uint32_t st_dev_major; /* as in stat */
	uint32_t st_dev_minor;
	uint64_t mnt_id;      /* of its mount, as in statx, fdinfo and mountinfo */
	uint64_t ino;         /* of the directory */
	bool is_mount_root;   /* path is a mount point */
	bool was_made;        /* NEW: this process created it */
	bool writes_at_close; /* see mounts.h */
	bool is_fuse;
};

/* Opens a directory that exists. */
int top_dir_open(struct top_dir *ret, const char *path, struct err *e) MUST_CHECK;
/* Opens a mount point without asking its storage, with O_PATH: its files cannot be read. The kernel
 * may ask all the same, so call it in a thread that may hang. */
int top_dir_open_dead(struct top_dir *ret, const char *path, struct err *e) MUST_CHECK;
/* Opens NEW, and creates it with mode 0700 if it does not exist. Its parent must exist. */
int top_dir_open_new(struct top_dir *ret, const char *path, struct err *e) MUST_CHECK;
void top_dir_close(struct top_dir *p);

/*
 * Unmounts p, which is a mount point, by its name in its parent. Its own fd is closed. Nothing on
 * the way to the parent is looked up again, so a link that a user has planted there since leads
 * nowhere else. is_dead: users keep it, and its storage is not asked (MNT_DETACH).
 */
int top_dir_unmount(struct top_dir *p, bool is_dead, struct err *e) MUST_CHECK;
/* Removes p, an empty directory, by its name in its parent. 0 or -errno. */
int top_dir_remove(const struct top_dir *p);
/*
 * From now on fd of p is in a second mount of p, which is not attached anywhere. What is opened by
 * fd does not use the mount that p was reached by, and uses that of top_dir_cover(). Without
 * Linux 5.2 or the right to mount, p is unchanged.
 */
void top_dir_clone_mount(struct top_dir *p);
/* Mounts from on p: its own mount, or else a bind mount. */
int top_dir_cover(const struct top_dir *p, const struct top_dir *from, struct err *e) MUST_CHECK;

/* The rest of path below top without a leading '/', "" for top itself; NULL: path is elsewhere.
 * Borrowed from path. */
const char *path_below(const char *top, const char *path);
/* The same below p ("/x/old2" is not below "/x/old"). */
const char *top_dir_below(const struct top_dir *p, const char *path);

#endif
