/* SPDX-License-Identifier: MIT */
/*
 * place: the two directories of a move, OLD and NEW.
 *
 * OLD is a mount or a directory below one; NEW is on another file system. Both are real
 * absolute paths as this process sees them; one that is moved may see them elsewhere.
 */
#ifndef RELOCATE_INVENTORY_TOP_DIR_H
#define RELOCATE_INVENTORY_TOP_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

struct top_dir {
	char *path;            /* real, absolute, no '/' at the end; owned */
	int fd;                /* the directory, O_RDONLY|O_DIRECTORY|O_CLOEXEC; owned; -1: none */
	uint32_t dev_major;    /* of its file system, as mountinfo tells them */
	uint32_t dev_minor;    /* (btrfs: not those of stat) */
	uint32_t st_dev_major; /* as stat tells them */
	uint32_t st_dev_minor; /* */
	uint64_t mnt_id;       /* of its mount: statx STATX_MNT_ID, fdinfo, mountinfo */
	uint64_t ino;          /* of the directory */
	bool is_mount_root;    /* path is where the file system is mounted */
	bool was_made;         /* NEW: it was not there and we made it */
};

/* The directory must be there. */
int top_dir_open(struct top_dir *ret, const char *path, struct err *e) MUST_CHECK;
/* NEW: made with mode 0700 where it is absent; its parent must be there. */
int top_dir_open_new(struct top_dir *ret, const char *path, struct err *e) MUST_CHECK;
void top_dir_close(struct top_dir *p);

/* The part of path below top without a leading '/', "" for top itself; NULL: elsewhere. Borrowed
 * from path. */
const char *path_below(const char *top, const char *path);
/* The part of path below the place without a leading '/', "" for the place itself;
 * NULL: elsewhere ("/x/old2" is not below "/x/old"). Borrowed from path. */
const char *top_dir_below(const struct top_dir *p, const char *path);

#endif
