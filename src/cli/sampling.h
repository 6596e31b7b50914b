/* SPDX-License-Identifier: MIT */
/* sampling: the options for events and processes, for all commands that sample. */
#ifndef CLI_SAMPLING_H
#define CLI_SAMPLING_H

#include "base/err.h"
#include "base/opt.h"
#include "cli/pids.h"
#include "sample/recording.h"

/* Put OPT_INCLUDE(struct args, sampling, sampling_opts) in a command's table. */
struct sampling_args {
	struct opt_list events;
	uint64_t frequency_hz, period, stack_bytes; /* 0: not given */
	bool is_all;
	struct opt_list pids;
	bool is_user_only, is_kernel_only;
	const char *cpus, *stack;
	int python; /* enum python_mode */
	bool has_native;
};
extern const struct opt sampling_opts[];

/* What the options become; owns what recording_opts borrows. All zero is empty. */
struct sampling_plan {
	struct recording_opts opts;
	struct cpulist cpus;
	pid_t pids[PIDS_MAX];
};

/* argv: the command, ends with NULL; borrowed; argv[0] NULL: none. */
int sampling_plan(struct sampling_plan *plan, const struct sampling_args *args, char **argv,
		  struct err *e) MUST_CHECK;
void sampling_plan_fini(struct sampling_plan *plan);

#endif
