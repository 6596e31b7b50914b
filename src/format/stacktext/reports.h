/* SPDX-License-Identifier: MIT */
/*
 * reports: stacks that less known sampling programs print, innermost frame first.
 *
 *	42 3  demo.parse(Demo.java:455)                     lightweight-java-profiler: samples,
 *depth demo.main(Demo.java:123) Total trace count = 42
 *
 *	Full stacks:                                        wallClockProfiler
 *	99.791% ===== (17194 samples)
 *	  1: poll   (at /srv/loop.nim:343)
 *
 *	4711: /usr/bin/demo -x                              procstack of AIX, one after another
 *	---------- tid# 1234 ----------
 *	0x09000000 poll(0x1, 0x2) + 0x40
 *
 * Source: stackcollapse-ljp.awk, -wcp.pl and -aix.pl of github.com/brendangregg/FlameGraph, by what
 *they read and write.
 */
#ifndef FORMAT_STACKTEXT_REPORTS_H
#define FORMAT_STACKTEXT_REPORTS_H

#include "format/format.h"

extern const struct format format_ljp;
extern const struct format format_wcp;
extern const struct format format_procstack;

#endif
