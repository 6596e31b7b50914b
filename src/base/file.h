/* SPDX-License-Identifier: MIT */
/*
 * file: whole inputs, and outputs that are there complete or not at all.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"

/* The bytes of a file. All zero is an empty input. */
struct file_input {
	const unsigned char *data; /* [0..len); mapped or allocated, see is_mapped */
	size_t len;
	bool is_mapped;
};

/* "-" is standard input. Regular files are mapped, everything else is read to its end,
 * of a device that is no terminal at most 1 MiB (-EFBIG). Fails with the errno of open or read; a
 * directory is -EISDIR. */
int file_load(const char *path, struct file_input *ret, struct err *e) MUST_CHECK;
void file_input_fini(struct file_input *in);

/* [from..to) will not be read soon: the memory for it, if mapped, is given back until it is. */
void file_input_drop(const struct file_input *in, size_t from, size_t to);

/* As file_load for small files of /proc and /sys, whose st_size is 0; at most limit bytes. */
struct buf;
int file_read_small(const char *path, size_t limit, struct buf *ret, struct err *e) MUST_CHECK;

/* The first size - 1 bytes of one read of a file of /proc or /sys, with a NUL behind, and how many
 * they are. 0: it cannot be read, or there are none. */
size_t file_read_start(const char *path, char *text, size_t size);

/*
 * Replaces path by these bytes: written to a temporary name in the same folder, fsynced,
 * renamed; a failure leaves what was there. What is not a regular file (a device, a FIFO)
 * is written directly; "-" is standard output.
 */
int file_replace(const char *path, const void *bytes, size_t len, struct err *e) MUST_CHECK;

/* As file_replace, but a regular file that is there stays, and it is -EEXIST. */
int file_create(const char *path, const void *bytes, size_t len, struct err *e) MUST_CHECK;

/*
 * The halves of file_replace and file_create, for who replaces several files together (file_set.h):
 * the bytes are in a temporary file beside path, and that is renamed, is_new as file_create does.
 * What is not a regular file is written by the first half. A file that does not get to its place
 * is to be dropped.
 */
struct file_beside {
	char path[PATH_MAX], target[PATH_MAX]; /* target: without links */
	char temporary[PATH_MAX];              /* "": there is none */
};
int file_write_beside(const char *path, const void *bytes, size_t len, struct file_beside *ret,
		      struct err *e) MUST_CHECK;
int file_move_beside(struct file_beside *f, bool is_new, struct err *e) MUST_CHECK;
void file_drop_beside(struct file_beside *f);

/* Renames within a file system; -EEXIST when to is there, or another -errno. */
int file_move_new(const char *from, const char *to) MUST_CHECK;

/* Can path be replaced? Asked before long work, so that a wrong path fails at once. */
int file_check_writable(const char *path, struct err *e) MUST_CHECK;

/* All bytes to a descriptor, also over short writes and EINTR. 0 or -errno. */
int file_write_all(int fd, const void *bytes, size_t len) MUST_CHECK;

#endif
