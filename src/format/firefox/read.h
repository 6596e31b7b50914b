/* SPDX-License-Identifier: MIT */
/*
 * read: reads profiles of the Firefox Profiler: processed ones (samply, profiler.firefox.com) and
 * gecko ones (Firefox, perf script report gecko), with the processes in them.
 *
 * Sample types are what the weights are: samples/count, time/nanoseconds or space/bytes; and
 * cpu/nanoseconds when the file has the CPU time between samples. Process and thread are labels.
 * Markers and counters are left out.
 *
 * Source: firefox-devtools/profiler, docs-developer: processed-profile-format,
 * gecko-profile-format.
 */
#ifndef FORMAT_FIREFOX_READ_H
#define FORMAT_FIREFOX_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

bool firefox_detect(const unsigned char *data, size_t len);
int firefox_read(struct profile *p, const unsigned char *data, size_t len,
		 struct err *e) MUST_CHECK;

#endif
