/* SPDX-License-Identifier: MIT */
/*
 * perfscript: reads the text that `perf script` prints, with or without call chains and with any
 * -F fields.
 *
 * Each distinct frame text is parsed once; the rest is byte lookup. Frames keep the address that
 * perf printed and their dso as mapping; inlined frames and source positions become lines.
 * Mappings have has_functions set: perf symbolized the frames, maybe on another machine, so its
 * unknown frames stay unknown.
 *
 * Sample types: see perfscript/events.h. Labels: comm, pid, tid, cpu, if printed.
 */
#ifndef FORMAT_PERFSCRIPT_PERFSCRIPT_H
#define FORMAT_PERFSCRIPT_PERFSCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "format/format.h"
#include "model/profile.h"

extern const struct format format_perfscript;

bool perfscript_detect(const unsigned char *data, size_t len);

/* Lines that belong to no sample are skipped, and one warning counts them; a text without
 * any sample is -EINVAL. */
int perfscript_read(struct profile *p, const unsigned char *data, size_t len,
		    struct err *e) MUST_CHECK;

/* As format.read_input. */
int perfscript_read_input(struct profile *p, const struct file_input *in, struct err *e) MUST_CHECK;

#endif
