/* SPDX-License-Identifier: MIT */
/* write: writes bytes to descriptors, and lines to files that many processes append to. */
#ifndef STAGE_WRITE_H
#define STAGE_WRITE_H

#include <stddef.h>
#include <sys/types.h>

#include "stage/text.h"

/* The position of a line in a regular file. len 0: none. */
struct written {
	dev_t dev;
	ino_t ino;
	off_t at;
	size_t len;
};

/* 0 or a negative errno. */
int write_all(int fd, const char *data, size_t len);

/* Appends by one write() with O_APPEND: lines of many processes do not mix. 0 or a negative errno.
 * ret_place: NULL, or set for a regular file. */
int write_line(const char *path, const struct text *line, struct written *ret_place);

/* Overwrites a line that was written before and pads it with blanks. 0 or a negative errno: the
 * file was replaced, or the line does not fit. */
int write_over(const char *path, struct text *line, const struct written *place);

#endif
