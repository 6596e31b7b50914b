/* SPDX-License-Identifier: MIT */
/*
 * heapprofile: reads the sampled heap profiles of V8: node --heap-prof, the Memory panel of Chrome.
 *
 * A tree of calls, each with the bytes that its own allocations still hold (space/bytes). The frame
 * "(root)" is left out.
 *
 * Source: Chrome DevTools Protocol, HeapProfiler.SamplingHeapProfile.
 */
#ifndef FORMAT_JSON_HEAPPROFILE_H
#define FORMAT_JSON_HEAPPROFILE_H

#include "format/format.h"

extern const struct format format_heapprofile;

#endif
