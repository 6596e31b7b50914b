/* SPDX-License-Identifier: MIT */
/*
 * counted: frames, innermost first, a line each, then a line with their number.
 *
 *	unix`i86_mwait+0xd                                  DTrace: @[stack()] = count()
 *	unix`idle+0x114
 *	1641
 *
 *	0xffffffff8103ce3b : native_safe_halt+0xb/0x10 [kernel]     SystemTap: print_stack(), a sum
 *	2404
 *
 *	__clear_user                                        bcc: profile, offcputime, stackcount
 *	read
 *	-                dd (25036)
 *	    4
 *
 * Names go without their offsets. A first line of DTrace that is no frame is a key of the
 *aggregation, and becomes the thread's name.
 *
 * Source: stackcollapse.pl and stackcollapse-stap.pl of github.com/brendangregg/FlameGraph, by what
 * they read and write; the examples of bcc's tools.
 */
#ifndef FORMAT_STACKTEXT_COUNTED_H
#define FORMAT_STACKTEXT_COUNTED_H

#include "format/format.h"

extern const struct format format_dtrace;
extern const struct format format_systemtap;
extern const struct format format_bcc;

#endif
