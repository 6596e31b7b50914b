/* SPDX-License-Identifier: MIT */
#include "cli/copper.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/cmd.h"

enum word_kind {
	WORD_SAME,   /* our option takes the value */
	WORD_FLAG,   /* our option has its value in it already */
	WORD_VIEW,   /* the mount point */
	WORD_IGNORE, /* of the overlay between nodes; with a value */
};

static const struct word {
	const char *theirs;
	enum word_kind kind;
	char ours[24];
} words[] = {
	{ "-tpath", WORD_SAME, "--target" },
	{ "-vpath", WORD_VIEW, "" },
	{ "-max_cacheable_byte_size", WORD_SAME, "--max-file" },
	{ "-md_enoent_ttl_ms", WORD_SAME, "--enoent-ttl" },
	{ "-log_level", WORD_SAME, "--log-level" },
	{ "-log_type", WORD_SAME, "--log-to" },
	{ "-log_output_dir", WORD_SAME, "--job-dir" },
	{ "-profile_metrics", WORD_FLAG, "--profile" },
	{ "-profile_top_n", WORD_SAME, "--profile-top" },
	{ "-profile_paths_full", WORD_FLAG, "--profile-paths" },
	{ "-profile_snapshot_interval_s", WORD_SAME, "--profile-interval" },
	{ "-s", WORD_FLAG, "--threads=1" },
	{ "-es", WORD_IGNORE, "" },
	{ "-nf", WORD_IGNORE, "" },
	{ "-trees", WORD_IGNORE, "" },
	{ "-net_type", WORD_IGNORE, "" },
	{ "-facility_address_book", WORD_IGNORE, "" },
	{ "-prefiltered_address_book", WORD_IGNORE, "" },
	{ "-addr_write_sync_time", WORD_IGNORE, "" },
};

static const struct word *find(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i].theirs, text) == 0)
			return &words[i];
	return NULL;
}

int copper_words(int argc, char **argv, struct copper *ret, struct err *e)
{
	ret->argv = calloc((size_t)argc + 1, sizeof *ret->argv);
	if (!ret->argv)
		return err_nomem(e);
	for (int i = 0; i < argc; i++) {
		const struct word *word = find(argv[i]);

		if (!word || word->kind == WORD_FLAG || word->kind == WORD_SAME)
			ret->argv[ret->argc++] = word ? strdup(word->ours) : strdup(argv[i]);
		if (!word || word->kind == WORD_FLAG)
			continue;
		if (++i == argc)
			return cmd_usage(e, "option '%s' needs a value", word->theirs);
		if (word->kind == WORD_SAME)
			ret->argv[ret->argc++] = strdup(argv[i]);
		else if (word->kind == WORD_VIEW)
			ret->view = argv[i];
		else
			log_msg(LOG_WARN, "cache", "%s is ignored: the cache is one node's",
				word->theirs);
	}
	for (int i = 0; i < ret->argc; i++)
		if (!ret->argv[i])
			return err_nomem(e);
	return 0;
}

void copper_fini(struct copper *c)
{
	for (int i = 0; c->argv && i < c->argc; i++)
		free(c->argv[i]);
	free(c->argv);
	c->argv = NULL;
}
