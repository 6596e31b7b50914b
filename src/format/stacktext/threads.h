/* SPDX-License-Identifier: MIT */
/*
 * threads: dumps of all threads' stacks, one behind another: the poor man's profilers.
 *
 *	Thread 2 (Thread 0x7f31 (LWP 4712) "worker"):       gdb: thread apply all bt
 *	#0  0x00007f31 in read () from /lib/libc.so.6
 *	#1  main () at demo.c:12
 *
 *	TID 4712:                                           eu-stack of elfutils
 *	#0  0x00007f31 read
 *
 *	Thread 0x00007f31 (most recent call first):         Python's faulthandler
 *	  File "/srv/app.py", line 12 in handle
 *
 * Each stack of each dump counts one.
 *
 * Source: stackcollapse-gdb.pl, -elfutils.pl, -faulthandler.pl of
 * github.com/brendangregg/FlameGraph, by what they read and write.
 */
#ifndef FORMAT_STACKTEXT_THREADS_H
#define FORMAT_STACKTEXT_THREADS_H

#include "format/format.h"

extern const struct format format_gdb;
extern const struct format format_elfutils;
extern const struct format format_faulthandler;

#endif
