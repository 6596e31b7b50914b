/* SPDX-License-Identifier: MIT */
/*
 * pmcstat: the callgraph of FreeBSD's pmcstat -G.
 *
 *	@ CPU_CLK_UNHALTED.THREAD [17 samples]
 *
 *	03.07%  [17]       witness_unlock @ /boot/kernel/kernel
 *	 70.59%  [12]        __mtx_unlock_flags
 *	  100.0%  [12]         selfdfree
 *
 * Rows are functions, each indented one blank more than the one it calls; a row's count has those
 * below it. stackcollapse-pmc.pl drops what the rows below leave of a count; a profile has it.
 *
 * Source: pmcstat(8); stackcollapse-pmc.pl of github.com/brendangregg/FlameGraph, by what it reads
 *and writes.
 */
#ifndef FORMAT_STACKTEXT_PMCSTAT_H
#define FORMAT_STACKTEXT_PMCSTAT_H

#include "format/format.h"

extern const struct format format_pmcstat;

#endif
