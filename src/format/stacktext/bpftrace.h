/* SPDX-License-Identifier: MIT */
/*
 * bpftrace: maps with stacks as keys, as bpftrace prints them when it ends.
 *
 *	@cpu[
 *	    native_safe_halt+14
 *	    default_idle+20
 *	, swapper/1]: 3
 *
 * A key may have stacks (innermost frame first, "+" and an offset behind the name) and other
 *values. Stacks of one key follow one another, the kernel's before the user's. Other values become
 *the thread's name. Each map is a sample type. What is no number (histograms, statistics) is
 *skipped.
 *
 * Source: bpftrace's reference guide; stackcollapse-bpftrace.pl of
 *github.com/brendangregg/FlameGraph, by what it reads and writes: anonymous maps, with offsets.
 */
#ifndef FORMAT_STACKTEXT_BPFTRACE_H
#define FORMAT_STACKTEXT_BPFTRACE_H

#include "format/format.h"

extern const struct format format_bpftrace;

#endif
