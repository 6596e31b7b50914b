/* SPDX-License-Identifier: MIT */
/*
 * perfdata_folder: reads the directory that `perf record --threads` and `perf record --kcore`
 * write.
 *
 * Its file "data" is a perf.data file; data.0, data.1, ... hold the records of each recording
 * thread, unordered.
 *
 * Source: tools/perf/Documentation/perf.data-directory-format.txt.
 */
#ifndef FORMAT_PERFDATA_FOLDER_H
#define FORMAT_PERFDATA_FOLDER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

/* Is it a folder with such a file? */
bool perfdata_is_folder(const char *path);

int perfdata_read_folder(struct profile *p, const char *path, struct err *e) MUST_CHECK;

#endif
