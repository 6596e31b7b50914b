/* SPDX-License-Identifier: MIT */
/*
 * profile_opts: the options of commands that load a profile. Put OPT_INCLUDE(struct args, filter,
 * filter_opts) in a command's table, and the same for places.
 */
#ifndef CLI_PROFILE_OPTS_H
#define CLI_PROFILE_OPTS_H

#include "base/opt.h"

extern const struct opt filter_opts[]; /* of struct filter_args */
/* Shows waits with the kernel's frames; to a bool of a command's struct args. */
#define OPT_KERNEL_FRAMES(args, field)            \
	OPT_FLAG(0, "kernel-frames", args, field, \
		 "Show the kernel's frames of waits, not only their system call")

#define DEBUGINFOD_HELP \
	"Fetch debug files of stripped binaries from these servers [default $DEBUGINFOD_URLS]"
extern const struct opt places_opts[]; /* of struct binaries_args */

#endif
