/* SPDX-License-Identifier: MIT */
/*
 * gperftools: the legacy CPU profile of gperftools, and its symbolized form.
 *
 * Words of 4 or 8 bytes, of either byte order:
 *
 *	0 3 0 PERIOD 0          the period in microseconds; 3 words follow the second
 *	COUNT DEPTH PC...       records, leaf first; callers are return addresses
 *	0 1 0                   the end
 *
 * and behind them, as text, lines of /proc/self/maps; of Java, whose third word is 1, the names of
 * its addresses. The symbolized form has the names of
 * addresses in front, "--- symbol" to "---", then "--- profile" and the words; its addresses
 * lie in the calls. google-pprof reads both, go tool pprof the first.
 *
 * Read: the types are samples/count and cpu/nanoseconds, without the second when the period
 * is 0. All PCs count: both peers strip a second frame that all stacks share.
 *
 * Written, in words of 8 bytes, is one sample type: "samples" with the period when the default
 * type is what the period counts, else nanoseconds as microseconds, else the values as they
 * are. Code that is mapped to the same addresses is moved apart, and addresses of the kernel
 * lose their top bit, because google-pprof drops those that have it.
 *
 * Source: gperftools' docs/cpuprofile-fileformat.html; the readers of google-pprof 2.10 and
 * go tool pprof 1.19.
 */
#ifndef FORMAT_GPERFTOOLS_GPERFTOOLS_H
#define FORMAT_GPERFTOOLS_GPERFTOOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "format/format.h"
#include "model/profile.h"

extern const struct format format_gperftools;
extern const struct format format_gperftools_symbols;

bool gperftools_detect(const unsigned char *data, size_t len);
bool gperftools_symbols_detect(const unsigned char *data, size_t len);

/* The path under which the symbolized form lists the addresses of frames that have none. */
#define GPERFTOOLS_NAMES "[names]"

/* Both forms. -EINVAL: "byte N: reason". */
int gperftools_read(struct profile *p, const unsigned char *data, size_t len,
		    struct err *e) MUST_CHECK;

/* -EINVAL: a value is negative. Frames that have only a name are numbers in the first form,
 * and a warning is logged. */
int gperftools_write(const struct profile *p, struct buf *out, struct err *e) MUST_CHECK;
int gperftools_symbols_write(const struct profile *p, struct buf *out, struct err *e) MUST_CHECK;

#endif
