/* SPDX-License-Identifier: MIT */
/*
 * sample: the call graph of sample(1) of macOS.
 *
 *	Call graph:
 *	    5130 Thread_8749954
 *	    + 4282 start_wqthread  (in libsystem_pthread.dylib) + 13  [0x7fff]
 *	    +   4282 _pthread_wqthread  (in libsystem_pthread.dylib) + 999  [0x7fff]
 *
 *	Total number in stack (recursive counted multiple, when >=5):
 *
 * A row's count has those below it. A frame is named module`function, without ".dylib".
 * stackcollapse-sample.awk leaves out what ends in functions that wait; a profile has it.
 *
 * Source: sample(1); stackcollapse-sample.awk of github.com/brendangregg/FlameGraph, by what it
 *reads and writes.
 */
#ifndef FORMAT_STACKTEXT_SAMPLE_H
#define FORMAT_STACKTEXT_SAMPLE_H

#include "format/format.h"

extern const struct format format_sample;

#endif
