/* SPDX-License-Identifier: MIT */
/* cmd_cache: the verbs of "cache". */
#include <string.h>

#include "base/nearest.h"
#include "cli/cmd.h"

static const struct opt opts[] = { OPT_END };

/* clang-format off */
static const struct cmd *const verbs[] = {
	&cmd_cache_run,
	&cmd_cache_mount,
	&cmd_cache_umount,
	&cmd_cache_launch,
	&cmd_cache_stop,
	&cmd_cache_stats,
	&cmd_cache_snapshot,
	&cmd_cache_reset,
	&cmd_cache_aggregate,
	&cmd_cache_paths,
	NULL,
};
/* clang-format on */

/* main runs the verbs: argv names none of them. */
static int run(int argc, char **argv, struct err *e)
{
	int first, rc = cmd_parse(&cmd_cache, NULL, argc, argv, &first, e);
	struct nearest near;
	const char *hint;

	if (rc < 0)
		return rc;
	if (first == argc)
		return err_usage(e, "no verb; 'auger cache --help' lists them");
	near = nearest_start(argv[first], strlen(argv[first]));
	for (size_t i = 0; verbs[i]; i++)
		nearest_add(&near, cmd_verb_name(verbs[i]));
	hint = nearest_text(&near, "");
	return err_usage(e, "unknown verb '%s'%s", argv[first],
			 *hint ? hint : "; 'auger cache --help' lists them");
}

const struct cmd cmd_cache = {
	.name = "cache",
	.operands = "",
	.summary = "serve a folder from memory, and profile every access to it",
	.opts = opts,
	.verbs = verbs,
	.run = run,
};
