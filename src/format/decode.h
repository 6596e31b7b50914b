/* SPDX-License-Identifier: MIT */
/*
 * decode: what is done to an input before its format is looked at: it is unpacked, and text in
 * UTF-16 becomes UTF-8.
 *
 * gzip, xz, zstd and bzip2 are known by their first bytes, whatever the file's name; members may
 * follow one another. pprof's files are left as they are: their gzip is part of the format. UTF-16
 * (of PowerShell's redirections) and UTF-8 are known by the mark that begins them, which goes.
 *
 * Limits: 4 GiB unpacked, and 128 times the input, but always at least 256 MiB, whatever it is
 * packed in. All of it is held in memory.
 *
 * Source: RFC 1952, RFC 8878; "The .xz File Format" 1.2.0; bzip2's manual; Unicode 15, 23.8.
 */
#ifndef FORMAT_DECODE_H
#define FORMAT_DECODE_H

#include "base/err.h"
#include "base/file.h"
#include "base/macros.h"
#include "format/format.h"

/* Replaces *in, of path, when something is to be done. from: the format that the user named, or
 * NULL. -EINVAL: "PATH: xz: damaged", "PATH: xz: ends early"; -EFBIG: over the limit; -ENOTSUP:
 * this auger was built without bzip2; as file_input_check(). */
int decode_input(struct file_input *in, const char *path, const struct format *from,
		 struct err *e) MUST_CHECK;

/* The same of bytes: appends to out what they hold. 0: out is what counts, 1: nothing was to be
 * done. */
int decode_bytes(const unsigned char *data, size_t len, struct buf *out, struct err *e) MUST_CHECK;

#endif
