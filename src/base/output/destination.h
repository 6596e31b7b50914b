/* SPDX-License-Identifier: MIT */
/*
 * destination: the folder and the name that an output's path leads to, so that nobody else can
 * redirect the output.
 *
 * The folder is held by a descriptor; use the *at() calls with it and name. Links on the way are
 * followed by the rule of fs.protected_symlinks, whatever that is set to: in a sticky folder that
 * others may write to, only links of ours and of the folder's owner. Links of procfs
 * (/dev/stdout, /dev/fd/63) are the kernel's and are followed by it.
 * Source: Documentation/admin-guide/sysctl/fs.rst, protected_symlinks and protected_regular.
 */
#ifndef BASE_OUTPUT_DESTINATION_H
#define BASE_OUTPUT_DESTINATION_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/macros.h"

struct destination {
	int folder; /* O_PATH */
	char name[NAME_MAX + 1];
	bool is_there;  /* then st is that of the file */
	bool is_opened; /* name is procfs' link to an open file: written to as it is, never replaced
			 */
	struct stat st;
};

/* -EISDIR for a folder; -EACCES for a link that is not followed, and for another user's file in a
 * sticky folder that others may write to; or another -errno. */
int destination_open(const char *path, struct destination *ret, struct err *e) MUST_CHECK;
void destination_close(struct destination *d); /* all zero but folder -1 is allowed */

/* st: of what is in an open folder. Is it ours, or could only the folder's owner have made it? */
bool destination_is_trusted(int folder, const struct stat *st);

/* Does it lie on a file system of other machines, or of a program (FUSE)? Their calls may block for
 * long. */
bool destination_is_remote(const struct destination *d);

/* Is it written to directly (a device, a FIFO, an open file) rather than replaced? */
bool destination_is_direct(const struct destination *d);

#endif
