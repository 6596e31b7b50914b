/* SPDX-License-Identifier: MIT */
/*
 * symbolize: gives the addresses of a profile their names.
 *
 * Each location with an address and without lines gets function, source file, line and
 * inlined frames, from (in this order) .symtab, MiniDebugInfo, separate debug files by build
 * id and debug link, .dynsym and PLT names for functions, DWARF for lines; /proc/kallsyms for
 * the kernel; /tmp/perf-PID.map for mappings of that name. Every distinct address is looked
 * up once. What cannot be named stays without lines; a missing file is no failure.
 */
#ifndef SYMBOL_SYMBOLIZE_H
#define SYMBOL_SYMBOLIZE_H

#include "base/err.h"
#include "model/profile.h"

struct symbolize_opts {
	/* [mapping id]: what to open instead of the mapping's own path, e.g.
	 * "/proc/self/fd/7" or "/proc/12/root/usr/bin/x"; NULL entries and NULL: its own. */
	const char *const *files;
	const char *kallsyms;     /* NULL: /proc/kallsyms */
	const char *perf_map_dir; /* NULL: /tmp */
	bool no_inlines;          /* function names only; no DWARF is read */
};

/* Fails only for lack of memory. */
int profile_symbolize(struct profile *p, const struct symbolize_opts *o, struct err *e) MUST_CHECK;

#endif
