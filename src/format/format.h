/* SPDX-License-Identifier: MIT */
/*
 * format: the interface of a file format: detection, reader, writer.
 *
 * A reader adds to an empty profile. Input may be hostile, so every reader is bounded. It reports
 * errors as "position: reason" (byte offset or line number); the caller adds the file name.
 */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "model/profile.h"

#define FORMAT_MAX_DEPTH (1 << 20)   /* frames of a stack that a reader takes */
#define FORMAT_NO_STACK "[no stack]" /* the one frame of samples without any */

struct format {
	const char *name;            /* "pprof"; the value of --from and --to */
	const char *summary;         /* lower case, no full stop */
	const char *mark;            /* by what its content is recognized; the same style */
	const char *lost;            /* what a profile of it lacks; "-": nothing */
	const char *const *suffixes; /* file name endings, ".pb.gz"; ends with NULL */
	bool is_text;                /* fit for a terminal */
	bool is_foreign; /* of another machine: this one's kernel and files name nothing in it */

	/* Could these bytes (all of the input) be of this format? Cheap: looks at the start.
	 * NULL when it cannot be read. */
	bool (*detect)(const unsigned char *data, size_t len);
	/* NULL: cannot be read. */
	int (*read)(struct profile *p, const unsigned char *data, size_t len, struct err *e);
	/* The same in less memory, for inputs that may be huge; NULL: read. */
	int (*read_input)(struct profile *p, const struct file_input *in, struct err *e);
	/* Appends the lines that FlameGraph's stackcollapse program for the format prints, byte for
	 * byte. NULL: there is none. */
	int (*collapse)(const unsigned char *data, size_t len, struct buf *out, struct err *e);
	/* NULL: cannot be written. Appends to out. */
	int (*write)(const struct profile *p, struct buf *out, struct err *e);
};

#endif
