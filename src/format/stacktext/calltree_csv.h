/* SPDX-License-Identifier: MIT */
/*
 * calltree_csv: call trees that profilers write as CSV, a row for each function in its callers.
 *
 *	Function Stack,Module,CPU Time:Total,CPU Time:Self          VTune: -report top-down -format
 *csv main,demo,100.0%,0.250 work,demo,75.0%,0.750
 *
 *	Level,Function Name,Inclusive Samples,Exclusive Samples,    Visual Studio: Export Report
 *	1,"main","1,000",250,
 *	2,"work",750,750,
 *
 * VTune's rows are indented by a blank for each level; the columns, in any order, are found by
 *their names, and times are seconds: cpu/nanoseconds. Visual Studio's rows have their level in
 *front: samples. The value is what a row has for itself. stackcollapse-vtune.pl takes the columns
 *in this order, and stackcollapse-vsprof.pl the inclusive samples of rows that have none below
 *them.
 *
 * Source: stackcollapse-vtune.pl and stackcollapse-vsprof.pl of github.com/brendangregg/FlameGraph,
 *by what they read and write.
 */
#ifndef FORMAT_STACKTEXT_CALLTREE_CSV_H
#define FORMAT_STACKTEXT_CALLTREE_CSV_H

#include "format/format.h"

extern const struct format format_vtune;
extern const struct format format_vsprof;

#endif
