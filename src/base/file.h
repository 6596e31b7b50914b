/* SPDX-License-Identifier: MIT */
/*
 * file: whole inputs. outfile.h has outputs.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"

/* The bytes of a file. All zero is an empty input. */
struct file_input {
	const unsigned char *data; /* [0..len); mapped or allocated, see is_mapped */
	size_t len;
	bool is_mapped;
	int guard; /* of the mapping: guard.h */
};

/* "-" is standard input. Regular files are mapped, everything else is read to its end,
 * of a device that is no terminal at most 1 MiB (-EFBIG). Fails with the errno of open or read; a
 * directory is -EISDIR. */
int file_load(const char *path, struct file_input *ret, struct err *e) MUST_CHECK;
/* The same of a name that was found in a folder: nothing but a regular file is opened, and no link
 * at the end of path is followed. -ELOOP, -EINVAL: it is no regular file. */
int file_load_regular(const char *path, struct file_input *ret, struct err *e) MUST_CHECK;
void file_input_fini(struct file_input *in);

/* To be asked when it is read: -ESTALE when it became shorter meanwhile, and zeros were read. */
int file_input_check(const struct file_input *in, const char *path, struct err *e) MUST_CHECK;

/* [from..to) will not be read soon: the memory for it, if mapped, is given back until it is. */
void file_input_drop(const struct file_input *in, size_t from, size_t to);

struct buf;

/* Appends what is left to read of fd, and a NUL behind it. -EFBIG: more than limit bytes. */
int file_read(int fd, const char *name, size_t limit, struct buf *ret, struct err *e) MUST_CHECK;

/* As file_load for small files of /proc and /sys, whose st_size is 0; at most limit bytes. */
int file_read_small(const char *path, size_t limit, struct buf *ret, struct err *e) MUST_CHECK;

/* The first size - 1 bytes of one read of a file of /proc or /sys, with a NUL behind, and how many
 * they are. 0: it cannot be read, or there are none. */
size_t file_read_start(const char *path, char *text, size_t size);

/*
 * Opens a regular file to read it. A descriptor, or -errno; -EINVAL: it is another kind of file.
 * Such a one is never opened, whoever replaces it meanwhile: that can do something to a device.
 * flags: O_NOFOLLOW or 0.
 */
int file_open_regular(const char *path, int flags, struct err *e) MUST_CHECK;

/* The same, of the file that at was opened on with O_PATH, at that path. */
int file_open_regular_at(int at, const char *path, int flags, struct err *e) MUST_CHECK;

/* All bytes to a descriptor, also over short writes and EINTR. 0 or -errno. */
int file_write_all(int fd, const void *bytes, size_t len) MUST_CHECK;

#endif
