/* SPDX-License-Identifier: MIT */
/*
 * legacy: pprof's profiles as text, from before profile.proto: gperftools, old Go, Java.
 *
 *	heap profile: 1: 1024 [4: 4096] @ heap_v2/524288    heap; also growth, fragmentation
 *	1: 1024 [4: 4096] @ 0x43a1e5 0x406c1b
 *
 *	--- contentionz 1 ---                               contention, mutex
 *	cycles/second = 2400000000
 *	sampling period = 100
 *	4800000 2 @ 0x43a1e5 0x406c1b
 *
 *	--- threadz 1 ---                                   threads
 *	--- Thread 7ff86f901940 (name: main/9) stack: ---
 *	  PC: 0x43a1e5 0x406c1b
 *
 *	goroutine profile: total 2                          counts
 *	2 @ 0x43a1e5 0x406c1b
 *
 *	MAPPED_LIBRARIES:                                   behind all of them
 *	00400000-00fcb000 r-xp 00000000 09:00 123           /bin/server
 *
 * A symbol section may stand in front ("--- symbol", lines of address and name, "---", "--- heap").
 * Heap and contention of Java ("format = java") have names behind the samples. Sample types, units
 * and values are those of go tool pprof. Text of Go with the names of its frames is another format
 * (format/stacktext/gotext.h).
 *
 * Source: legacy formats of github.com/google/pprof and google-pprof of gperftools 2.10.
 */
#ifndef FORMAT_STACKTEXT_LEGACY_H
#define FORMAT_STACKTEXT_LEGACY_H

#include "format/format.h"

extern const struct format format_pprof_text;

#endif
