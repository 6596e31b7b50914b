/* SPDX-License-Identifier: MIT */
#include "cli/profile_opts.h"

#include "source/load.h"

const struct opt filter_opts[] = {
	OPT_STR(0, "focus", "REGEX", struct filter_args, focus,
		"Keep only stacks with a frame that matches"),
	OPT_STR(0, "ignore", "REGEX", struct filter_args, ignore,
		"Leave out stacks with a frame that matches"),
	OPT_LIST(0, "comm", "REGEX", struct filter_args, comm,
		 "Keep only threads of this name (whole name); again for more"),
	OPT_LIST(0, "pid", "PID", struct filter_args, pid,
		 "Keep only this process; again for more"),
	OPT_LIST(0, "tid", "TID", struct filter_args, tid, "Keep only this thread; again for more"),
	OPT_LIST(0, "label", "KEY=REGEX", struct filter_args, label,
		 "Keep only samples with this label (whole value); again for more"),
	OPT_END,
};

const struct opt places_opts[] = {
	OPT_LIST(
		0, "binary", "FILE[@ADDR]", struct binaries_args, binaries,
		"Take names from FILE, a program of the trace's machine loaded at ADDR; again for more"),
	OPT_STR(0, "kallsyms", "FILE", struct binaries_args, kallsyms,
		"Take the kernel's names from FILE: the machine's /proc/kallsyms, or what nm prints"),
	OPT_STR(0, "debuginfod", "URLS", struct binaries_args, debuginfod, DEBUGINFOD_HELP),
	OPT_END,
};
