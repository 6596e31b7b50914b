/* SPDX-License-Identifier: MIT */
/*
 * pprof: reads and writes profile.proto, gzipped or plain; auger's own file format.
 *
 * Reading and writing a file of pprof_write gives the same bytes. A foreign file loses entries
 * without references, equal samples become one, and ids are renumbered once. Samples without a
 * stack get one frame, "[no stack]", when read and when written, because go tool pprof leaves them
 * out of its totals.
 *
 * Invalid UTF-8 bytes and NULs become \xNN in texts: protobuf's strings are UTF-8.
 *
 * The times of samples (times.h) are an extension. A recording's spool (journal.h) is read, too, up
 * to its last whole record. Other extensions (fields.h) are skipped.
 *
 * Refused: what go tool pprof refuses (docs/formats.md lists it), duplicate sample types or more
 * than PROFILE_MAX_TYPES, stacks of more than FORMAT_MAX_DEPTH frames.
 *
 * Source: github.com/google/pprof, proto/profile.proto.
 */
#ifndef FORMAT_PPROF_PPROF_H
#define FORMAT_PPROF_PPROF_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "format/format.h"
#include "model/profile.h"

extern const struct format format_pprof;

bool pprof_detect(const unsigned char *data, size_t len);

/* -EINVAL: "byte N: reason", or "unpacked byte N: reason" when the input is gzipped. */
int pprof_read(struct profile *p, const unsigned char *data, size_t len, struct err *e) MUST_CHECK;

/* gzip without a time, so that equal profiles are equal bytes. */
int pprof_write(const struct profile *p, struct buf *out, struct err *e) MUST_CHECK;

#endif
