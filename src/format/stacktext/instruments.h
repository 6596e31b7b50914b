/* SPDX-License-Identifier: MIT */
/*
 * instruments: a call tree of Apple's Instruments, by Edit > Deep Copy.
 *
 *	Weight<tab>Self Weight<tab><tab>Symbol Name
 *	2.50 s  100.0%<tab>0 s<tab> <tab>demo (4711)
 *	2.50 s  100.0%<tab>1.20 s<tab> <tab> main
 *
 * Symbols are indented one blank more than their caller's. The value is the own time: cpu in
 * nanoseconds; in the lines of stackcollapse-instruments.pl whole milliseconds.
 *
 * Source: stackcollapse-instruments.pl of github.com/brendangregg/FlameGraph, by what it reads and
 * writes.
 */
#ifndef FORMAT_STACKTEXT_INSTRUMENTS_H
#define FORMAT_STACKTEXT_INSTRUMENTS_H

#include "format/format.h"

extern const struct format format_instruments;

#endif
