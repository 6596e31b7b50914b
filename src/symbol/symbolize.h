/* SPDX-License-Identifier: MIT */
/*
 * symbolize: gives the addresses of a profile their names.
 *
 * Each location with an address and without lines gets function, source file, line and
 * inlined frames: of ELF files as symbol_file tells, of the kernel from /proc/kallsyms (code
 * of a module moves to a mapping "[module]"), of mappings called /tmp/perf-PID.map from that
 * file. Every distinct address is looked up once. What cannot be named stays without lines;
 * a missing file is no failure. A file that is not the one that was recorded (by build id) is
 * not used, and the user is told.
 *
 * A mapping that has functions already is left alone: it was asked when it was recorded.
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
