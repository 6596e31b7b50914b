/* SPDX-License-Identifier: MIT */
#include "cli/cache/copper.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/cmd.h"

enum word_kind {
	WORD_SAME,   /* becomes our option, with the same value */
	WORD_FLAG,   /* becomes our option, without a value */
	WORD_VIEW,   /* has the mount point as its value */
	WORD_IGNORE, /* has a value; our nodes find one another by themselves */
	WORD_HOSTS,  /* has a file as its value, whose hosts count where no node file is named */
	WORD_DROP,   /* is always on */
	WORD_MOUNT,  /* has libfuse's mount options as its value, separated by commas */
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
	{ "-P", WORD_FLAG, "--profile" }, /* this and the next three: of its launchers */
	{ "-N", WORD_SAME, "--profile-top" },
	{ "-A", WORD_FLAG, "--profile-paths" },
	{ "-I", WORD_SAME, "--profile-interval" },
	{ "-s", WORD_FLAG, "--threads=1" },
	{ "-d", WORD_FLAG, "--foreground" },
	{ "-f", WORD_FLAG, "--foreground" },
	{ "--plus", WORD_DROP, "" },
	{ "-o", WORD_MOUNT, "" },
	{ "-es", WORD_IGNORE, "" },
	{ "-nf", WORD_SAME, "--node-file" },
	{ "-trees", WORD_SAME, "--trees" },
	{ "-net_type", WORD_IGNORE, "" },
	{ "-facility_address_book", WORD_HOSTS, "" },
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

static void put(struct copper *c, const char *word)
{
	c->argv[c->argc++] = strdup(word);
}

/* Their profile is a set of files. */
static bool has_files(const struct word *word)
{
	return strncmp(word->ours, "--profile", strlen("--profile")) == 0;
}

/* -s, -d, -f, -o and --plus are libfuse's. */
static bool is_of_copper(const struct word *word)
{
	return has_files(word) || (word->theirs[1] != '-' && word->theirs[2]);
}

/* All others are ignored: most, such as ro and default_permissions, are always on. */
static void put_mount_options(struct copper *c, const char *list)
{
	for (const char *at = list; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");

		if (len == strlen("allow_other") && strncmp(at, "allow_other", len) == 0)
			put(c, "--allow-other");
		else
			log_msg(LOG_INFO, "cache", "-o %.*s is ignored", (int)len, at);
		at += len;
	}
}

static void put_with_value(struct copper *c, const struct word *word, char *value)
{
	if (word->kind == WORD_VIEW)
		c->view = value;
	else if (word->kind == WORD_MOUNT)
		put_mount_options(c, value);
	else if (word->kind == WORD_HOSTS)
		c->hosts = value;
	else if (word->kind == WORD_IGNORE)
		log_msg(LOG_INFO, "cache", "%s is ignored: nodes find one another by themselves",
			word->theirs);
	else if (strcmp(word->theirs, "-log_type") == 0 && strcmp(value, "both") == 0)
		put(c, "file_and_stdout"); /* from the help of Copper's launchers */
	else
		put(c, value);
}

int copper_translate(int argc, char **argv, struct copper *ret, struct err *e)
{
	bool is_copper = false; /* one of their words came before */
	bool has_nodes = false;
	size_t room = 1;

	for (int i = 0; i < argc; i++)
		room += strlen(argv[i]) + 2; /* a word may become several */
	ret->argv = calloc(room, sizeof *ret->argv);
	if (!ret->argv)
		return err_nomem(e);
	for (int i = 0; i < argc; i++) {
		const struct word *word = find(argv[i]);

		if (!is_copper && strcmp(argv[i], "-f") == 0)
			word = NULL; /* our -f would be --format */
		is_copper |= word || strncmp(argv[i], "-o", 2) == 0;
		if (!word && strncmp(argv[i], "-o", 2) == 0) {
			put_mount_options(ret, argv[i] + 2);
			continue;
		}
		if (word && has_files(word))
			put(ret, "--copper-files");
		ret->is_copper |= word && is_of_copper(word);
		has_nodes |= word && strcmp(word->ours, "--node-file") == 0;
		if (!word || word->kind == WORD_FLAG || word->kind == WORD_SAME)
			put(ret, word ? word->ours : argv[i]);
		if (!word || word->kind == WORD_FLAG || word->kind == WORD_DROP)
			continue;
		if (++i == argc)
			return err_usage(e, "option '%s' needs a value", word->theirs);
		put_with_value(ret, word, argv[i]);
	}
	if (ret->hosts && !has_nodes) {
		put(ret, "--node-file");
		put(ret, ret->hosts);
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
