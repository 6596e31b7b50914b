/* SPDX-License-Identifier: MIT */
/*
 * perfdata: reads the files of `perf record`.
 *
 * It reads files and pipes (perf record -o -) of all versions since 2.6.31, little-endian, plain
 * or compressed, with any number of events. The profile has the shape of auger's own recordings,
 * see perf/ingest.h. Stacks come from the kernel's call chains, from LBR, or from unwinding the
 * user stack copies. A truncated file is read up to its end.
 *
 * Source: tools/perf/Documentation/perf.data-file-format.txt, linux/perf_event.h.
 */
#ifndef FORMAT_PERFDATA_PERFDATA_H
#define FORMAT_PERFDATA_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"
#include "base/macros.h"
#include "format/format.h"
#include "model/profile.h"

extern const struct format format_perfdata;

bool perfdata_detect(const unsigned char *data, size_t len);
int perfdata_read(struct profile *p, const unsigned char *data, size_t len,
		  struct err *e) MUST_CHECK;

/* As format.read_input. */
int perfdata_read_input(struct profile *p, const struct file_input *in, struct err *e) MUST_CHECK;

/* A recording in several files: in has the head, parts [0..count) only records. */
int perfdata_read_parts(struct profile *p, const struct file_input *in,
			const struct file_input *parts, size_t count, struct err *e) MUST_CHECK;

#endif
