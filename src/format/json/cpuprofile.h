/* SPDX-License-Identifier: MIT */
/*
 * cpuprofile: reads the CPU profiles of V8: node --cpu-prof, the Performance panel of Chrome.
 *
 * The tree of calls has a node for each stack. A sample lasts until the next one; a profile
 * without samples has only their number by node. Times are microseconds. The frame "(root)" is
 * left out.
 *
 * Source: Chrome DevTools Protocol, Profiler.Profile.
 */
#ifndef FORMAT_JSON_CPUPROFILE_H
#define FORMAT_JSON_CPUPROFILE_H

#include "format/format.h"

extern const struct format format_cpuprofile;

#endif
