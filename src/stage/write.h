/* SPDX-License-Identifier: MIT */
/* write: bytes to descriptors, and lines to files that many processes append to. */
#ifndef STAGE_WRITE_H
#define STAGE_WRITE_H

#include <stddef.h>
#include <sys/types.h>

#include "stage/text.h"

/* Where a line stands in a regular file. len 0: nowhere. */
struct written {
	dev_t dev;
	ino_t ino;
	off_t at;
	size_t len;
};

/* 0 or a negative errno. */
int write_all(int fd, const char *data, size_t len);

/* One write() on a file that is opened to append: lines of many processes do not mix. 0 or a
 * negative errno. ret_place: NULL, or set if the file keeps places. */
int write_line(const char *path, const struct text *line, struct written *ret_place);

/* In the place of a line that was written before, with blanks behind it. 0 or a negative errno:
 * the file is another one now, or the line (which may have become longer) does not fit. */
int write_over(const char *path, struct text *line, const struct written *place);

#endif
