/* SPDX-License-Identifier: MIT */
/* launch_opts: the options of "cache launch": its own, and those of "cache mount" that it passes on
 * to the nodes as they are. It takes the options of Copper's launchers, too. */
#ifndef CLI_CACHE_LAUNCH_OPTS_H
#define CLI_CACHE_LAUNCH_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "cachejob/launcher.h"

#define LAUNCH_PASSED_VALUES 15
#define LAUNCH_PASSED_FLAGS 6

struct launch_args {
	const char *target, *job, *hosts, *host_file, *rsh, *cpus;
	int launcher; /* enum launcher_kind */
	bool is_dry_run, is_per_node;
	uint64_t timeout_s;
	struct opt_list shared;
	const char *values[LAUNCH_PASSED_VALUES]; /* as passed_values of launch_opts.c */
	bool flags[LAUNCH_PASSED_FLAGS];
	char **words; /* [word_count]: the translated command line; owned, with its strings */
	int word_count;
};

extern const struct opt launch_opts[];

int launch_opts_parse(int argc, char **argv, struct launch_args *ret, const char **ret_view,
		      struct err *e) MUST_CHECK;
void launch_opts_fini(struct launch_args *args);

/* Appends what is passed on to "cache mount". */
void launch_opts_put(const struct launch_args *args, struct words *ret);

#endif
