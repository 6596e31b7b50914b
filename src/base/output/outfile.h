/* SPDX-License-Identifier: MIT */
/*
 * outfile: output files that are complete or absent, and that nobody else can redirect.
 *
 * The bytes go to a temporary file in the output's folder, readable by its owner only; it is synced
 * and renamed when it is complete. Until it is synced it has no name, where the file system can do
 * that (O_TMPFILE): a process that is killed leaves nothing behind. A failure leaves what was
 * there. What is not a regular file (a device, a FIFO, /dev/stdout) is written directly; "-" is
 * standard output. destination.h says which links are followed and which files are refused.
 */
#ifndef BASE_OUTPUT_OUTFILE_H
#define BASE_OUTPUT_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/output/destination.h"

/* Replaces path by these bytes. A file of ours keeps its permissions, any other new file has those
 * that the umask leaves; never a set-id bit. */
int outfile_replace(const char *path, const void *bytes, size_t len, struct err *e) MUST_CHECK;

/* As outfile_replace, but a regular file that is there stays, and it is -EEXIST. */
int outfile_create(const char *path, const void *bytes, size_t len, struct err *e) MUST_CHECK;

/*
 * As outfile_replace for a name in a folder that is open, where others may write. What is there
 * must be a regular file of this thread's user (fsuser.h): a link, a FIFO, a device and another
 * user's file are -EEXIST, and nothing is opened. folder stays the caller's. path: for messages.
 */
int outfile_replace_at(int folder, const char *name, const char *path, const void *bytes,
		       size_t len, struct err *e) MUST_CHECK;

/* Can path be replaced? Asked before long work, so that a wrong path fails at once. */
int outfile_check(const char *path, struct err *e) MUST_CHECK;

/* A file being written. All zero but fd -1 and to.folder -1: none. */
struct outfile {
	char path[PATH_MAX]; /* as it was given, for messages */
	struct destination to;
	char temporary[NAME_MAX + 1]; /* in to.folder; "": it has no name yet, or there is none */
	int fd;                       /* of the temporary: open for reading and writing; -1: none */
};

/* The parts of outfile_replace and outfile_create, for who writes piece by piece or replaces
 * several files together (file_set.h). -EINVAL where path is not a regular file. */
int outfile_begin(const char *path, struct outfile *ret, struct err *e) MUST_CHECK;
/* Syncs what was written, and closes fd. */
int outfile_sync(struct outfile *f, struct err *e) MUST_CHECK;
int outfile_commit(struct outfile *f, bool is_new, struct err *e) MUST_CHECK;
void outfile_discard(struct outfile *f); /* removes what is not committed; twice is allowed */

/* As begin, write and sync; what is not a regular file is written here and has nothing to commit.
 */
int outfile_write(const char *path, const void *bytes, size_t len, struct outfile *ret,
		  struct err *e) MUST_CHECK;

/* A descriptor to write a stream to, as it comes: a regular file is begun anew. */
int outfile_open_stream(const char *path, int *ret_fd, struct err *e) MUST_CHECK;

/* Renames within a file system; -EEXIST when to is there, or another -errno. */
int outfile_move_new(int from_folder, const char *from, int to_folder, const char *to) MUST_CHECK;

#endif
