/* SPDX-License-Identifier: MIT */
/*
 * gzip_writer: writes a gzip stream to the end of a buf.
 *
 * The header has no time and no name, so equal contents give equal bytes (with one version of
 * zlib). The caller appends to `staged`; gzip_writer_flush() compresses it once it is large
 * enough.
 */
#ifndef FORMAT_GZIP_WRITER_H
#define FORMAT_GZIP_WRITER_H

#include <stdbool.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

struct gzip_writer {
	struct buf staged; /* not compressed yet */
	struct buf *out;   /* borrowed */
	z_stream zlib;
	gz_header header; /* zlib keeps a pointer */
};

int gzip_writer_open(struct gzip_writer *pk, struct buf *out,
		     struct err *e) MUST_CHECK; /* -ENOMEM */
void gzip_writer_close(
	struct gzip_writer *pk); /* without gzip_writer_end() the stream is incomplete */

/* Compresses staged once it is large enough. The bufs remember failures. */
void gzip_writer_flush(struct gzip_writer *pk);

/* Compresses the rest and ends the stream. -ENOMEM when any step failed. */
int gzip_writer_end(struct gzip_writer *pk, struct err *e) MUST_CHECK;

#endif
