/* SPDX-License-Identifier: MIT */
/*
 * symbolize: gives the addresses of a profile their names.
 *
 * Each location with an address and without lines gets function, source file, line and inlined
 * frames. Names come from symbol_file for ELF files, from /proc/kallsyms for the kernel (code of a
 * module moves to a mapping "[module]"), and from the file itself for mappings called
 * /tmp/perf-PID.map or jit-PID.dump. Every distinct address is looked up once. Unnamed addresses
 * stay without lines; a missing file is no failure. A file with another build id than the recorded
 * one is not used, and a warning is logged.
 *
 * A mapping that has functions already is skipped: it was symbolized when it was recorded.
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
	const char *debug_dir;    /* separate debug files; NULL: /usr/lib/debug */
	bool no_inlines;          /* function names only; no DWARF is read */
};

/* Fails only for lack of memory. */
int profile_symbolize(struct profile *p, const struct symbolize_opts *o, struct err *e) MUST_CHECK;

#endif
