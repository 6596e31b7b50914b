/* SPDX-License-Identifier: MIT */
/*
 * beneath: opens files of a tree without leaving it.
 *
 * Users own the trees that root copies. So no component may be a symbolic link, lead out of the
 * directory or be on another mount.
 *
 * Source: openat2(2), RESOLVE_BENEATH.
 */
#ifndef RELOCATE_COPY_BENEATH_H
#define RELOCATE_COPY_BENEATH_H

/* flags: as open(2), O_CLOEXEC is added; O_PATH with O_NOFOLLOW opens a symbolic link itself.
 * name may be longer than PATH_MAX. A descriptor, or -errno. */
int open_beneath(int dir, const char *name, int flags, unsigned mode);

#endif
