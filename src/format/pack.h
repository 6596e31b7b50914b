/* SPDX-License-Identifier: MIT */
/*
 * pack: a gzip stream that grows at the end of a buf.
 *
 * The header has no time and no name, so that equal contents are equal bytes (of one version
 * of zlib). What is put is staged in `staged`, which the caller may append to directly; it is
 * packed whenever pack_flush() finds enough of it.
 */
#ifndef FORMAT_PACK_H
#define FORMAT_PACK_H

#include <stdbool.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

struct pack {
	struct buf staged; /* not packed yet */
	struct buf *out;   /* borrowed */
	z_stream zlib;
	gz_header header; /* zlib keeps a pointer */
};

int pack_open(struct pack *pk, struct buf *out, struct err *e) MUST_CHECK; /* -ENOMEM */
void pack_close(struct pack *pk); /* without pack_end() what was put is incomplete */

/* Packs what is staged, when it is much. Failures are remembered by the bufs. */
void pack_flush(struct pack *pk);

/* Packs the rest and ends the stream. -ENOMEM when any step failed. */
int pack_end(struct pack *pk, struct err *e) MUST_CHECK;

#endif
