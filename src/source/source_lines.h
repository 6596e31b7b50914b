/* SPDX-License-Identifier: MIT */
/*
 * source_lines: the lines of a source file that a profile names.
 *
 * A profile can come from anybody and name any path, so only regular files of at most
 * SOURCE_LINES_MAX bytes are read. Root opens the file with the rights of the user who owns the
 * sampled binary, also over its folders; when that is root, or unknown, everybody has to be allowed
 * to read the file.
 */
#ifndef SOURCE_SOURCE_LINES_H
#define SOURCE_SOURCE_LINES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

#define SOURCE_LINES_MAX ((size_t)16 << 20)

/* All zero: no lines. */
struct source_lines {
	struct buf text;
	const char **lines; /* [count]: without tabs; owned, the texts are text's */
	size_t count;
};

/* binary: path of the file whose source this is. Fails with the errno of stat, open or read;
 * -EINVAL: not a regular file; -EACCES: root may not; -EFBIG; -ENOMEM. */
int source_lines_load(struct source_lines *s, const char *path, const char *binary,
		      struct err *e) MUST_CHECK;
void source_lines_fini(struct source_lines *s);

#endif
