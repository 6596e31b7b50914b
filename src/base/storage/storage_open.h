/* SPDX-License-Identifier: MIT */
/*
 * storage_open: opens files of others on storage that may not reply any more.
 *
 * Local block devices are trusted. A file of another file system (major number 0: NFS, FUSE,
 * overlay, tmpfs) is first opened and read by a process that can be left behind (replies.h), unless
 * the same file system replied within the last second. One that did not reply within a second is
 * not used for the next ten, and a line reports that the first time. Storage may still hang after
 * that: what needs more of a file than its start and end reads it by storage_replies() first.
 *
 * Any thread may call these functions.
 *
 * Source: openat2(2), RESOLVE_CACHED (Linux 5.12): what is in the kernel's memory of a path is
 * known without a request. Without it only the last component of a path is covered.
 */
#ifndef BASE_STORAGE_STORAGE_OPEN_H
#define BASE_STORAGE_STORAGE_OPEN_H

#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"

/* As file_open_regular(); -ETIMEDOUT: the storage does not reply. */
int storage_open_regular(const char *path, int flags, struct err *e) MUST_CHECK;

/* Can this be read of an open file? read is called in a forked process, as of replies_within(),
 * when the file is on the network or FUSE; else the answer is yes. */
bool storage_replies(int fd, void (*read)(int fd));

#endif
