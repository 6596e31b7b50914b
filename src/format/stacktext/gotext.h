/* SPDX-License-Identifier: MIT */
/*
 * gotext: what Go's net/http/pprof and runtime/pprof write as text.
 *
 *	goroutine profile: total 2                          debug=1: goroutine, threadcreate, own
 *ones 2 @ 0x43a1e5 0x406c1b #	0x43a1e4	main.wait+0x64	/srv/main.go:17
 *
 *	heap profile: 1: 1024 [4: 4096] @ heap/1048576      heap, allocs
 *	1: 1024 [4: 4096] @ 0x43a1e5
 *	#	0x43a1e4	main.grow+0x64	/srv/main.go:27
 *
 *	--- contention:                                     block; "--- mutex:" is mutex
 *	cycles/second=2400000000
 *	4800000 2 @ 0x43a1e5
 *	#	0x43a1e4	main.lock+0x64	/srv/main.go:37
 *
 *	goroutine 7 [chan receive]:                         debug=2, and what a panic prints
 *	main.wait(0xc000010000)
 *		/srv/main.go:17 +0x64
 *
 * The sample types are those of the same profile without debug. Heap values are scaled from the
 *sampled allocations to all, as go tool pprof does: by 1 / (1 - exp(-size / rate)) with the mean
 *size. Stacks without the lines that begin with '#' are addresses.
 *
 * Source: documentation of runtime/pprof; legacy formats of github.com/google/pprof.
 */
#ifndef FORMAT_STACKTEXT_GOTEXT_H
#define FORMAT_STACKTEXT_GOTEXT_H

#include "format/format.h"

extern const struct format format_go;

#endif
