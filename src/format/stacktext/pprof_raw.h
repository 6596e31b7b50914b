/* SPDX-License-Identifier: MIT */
/*
 * pprof_raw: what go tool pprof -raw prints of a profile.
 *
 *	PeriodType: cpu nanoseconds
 *	Period: 10000000
 *	Samples:
 *	samples/count cpu/nanoseconds
 *	          2   20000000: 1 2
 *	Locations
 *	     1: 0x4a895f M=1 main.fib /srv/fib.go:4 s=0
 *	             main.work /srv/fib.go:9 s=0
 *	     2: 0x4a8a51 M=1 main.main /srv/fib.go:7 s=0
 *	Mappings
 *	1: 0x400000/0x4a9000/0x0 /srv/fib  [FN]
 *
 * A stack is numbers of locations, innermost first; a location has a line for each function that is
 * inlined there, innermost first. Labels and mappings are left out. stackcollapse-go.pl takes
 *profiles of two sample types, the first of them, and the innermost function of a location.
 *
 * Source: go tool pprof; stackcollapse-go.pl of github.com/brendangregg/FlameGraph, by what it
 *reads and writes.
 */
#ifndef FORMAT_STACKTEXT_PPROF_RAW_H
#define FORMAT_STACKTEXT_PPROF_RAW_H

#include "format/format.h"

extern const struct format format_pprof_raw;

#endif
