/* SPDX-License-Identifier: MIT */
/* commands: "cache snapshot" and "cache reset", which send a command to a mounted cache. */
#include <stdio.h>

#include "cachefs/profile/control.h"
#include "cli/cmd.h"

static const struct opt opts[] = { OPT_END };

static int parse_view(const struct cmd *cmd, int argc, char **argv, const char **ret, struct err *e)
{
	int first, rc = cmd_parse(cmd, NULL, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (argc != first + 1)
		return err_usage(e, "name one folder, the view");
	*ret = argv[first];
	return 0;
}

static int run_snapshot(int argc, char **argv, struct err *e)
{
	struct control_stats stats;
	const char *view = NULL;
	int rc = parse_view(&cmd_cache_snapshot, argc, argv, &view, e);

	if (rc == 0)
		rc = control_stats(view, &stats, e);
	if (rc == 0)
		rc = control_command(view, CONTROL_SNAPSHOT, e);
	if (rc == 0)
		printf("%s\n", stats.job);
	return rc;
}

static int run_reset(int argc, char **argv, struct err *e)
{
	const char *view = NULL;
	int rc = parse_view(&cmd_cache_reset, argc, argv, &view, e);

	return rc < 0 ? rc : control_command(view, CONTROL_RESET, e);
}

const struct cmd cmd_cache_snapshot = {
	.name = "cache snapshot",
	.operands = "VIEW",
	.summary = "write the profile and tables of a mounted cache now, and print their folder",
	.opts = opts,
	.run = run_snapshot,
};

const struct cmd cmd_cache_reset = {
	.name = "cache reset",
	.operands = "VIEW",
	.summary = "write the profile of a mounted cache, then empty it and reset its counters",
	.opts = opts,
	.run = run_reset,
};
