/* SPDX-License-Identifier: MIT */
/* formats: the list of all file formats, and functions to choose one. */
#ifndef FORMAT_FORMATS_H
#define FORMAT_FORMATS_H

#include "base/nearest.h"
#include "format/format.h"

extern const struct format *const formats[]; /* in order of detection; ends with NULL */

/* By name, or NULL. */
const struct format *format_find(const char *name);
/* "; did you mean 'pprof'?", else where the names are listed. Held by near, which it fills. */
const char *formats_hint(const char *name, struct nearest *near);
/* By content, else by the ending of path; NULL: unknown. */
const struct format *format_detect(const char *path, const unsigned char *data, size_t len);
/* Has path an ending of this format, maybe with that of a packer ("x.folded.xz")? NULL: of any that
 * is read. */
bool format_is_named(const struct format *format, const char *path);
/* The writable format of this file name's ending, or NULL. */
const struct format *format_for_output(const char *path);

#endif
