/* SPDX-License-Identifier: MIT */
#include "cli/cmd.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "job/place.h"

#define OUTPUTS_MAX 4

const char *cmd_verb_name(const struct cmd *verb)
{
	return strrchr(verb->name, ' ') + 1;
}

bool cmd_is_verbose(void)
{
	return log_shows(LOG_INFO, "cli");
}

int cmd_exec_failed(const char *name, const struct err *e)
{
	fprintf(stderr, "auger %s: %s\n", name, e->msg);
	return e->code == -ENOENT ? 127 : 126;
}

/* The table of cmd with what every command has. */
#define WITH_COMMON(cmd)                                                                    \
	{                                                                                   \
		{ .kind = OPT_KIND_INCLUDE, .table = (cmd)->opts },                         \
			OPT_VERBOSE((cmd)->verbose ? (cmd)->verbose                         \
						   : "Also print what is read and chosen"), \
			OPT_HELP("Show this help"), OPT_END                                 \
	}

void cmd_complete(const struct cmd *cmd, struct buf *out)
{
	const struct opt opts[] = WITH_COMMON(cmd);

	opt_complete(opts, out);
	for (size_t i = 0; cmd->verbs && cmd->verbs[i]; i++)
		buf_printf(out, "%s\t%s\n", cmd_verb_name(cmd->verbs[i]), cmd->verbs[i]->summary);
}

static int print_help(const struct cmd *cmd, const struct opt *opts, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	buf_printf(&text, "usage: auger %s%s [options]%s%s\n%s\n\n", cmd->name,
		   cmd->verbs ? " VERB" : "", *cmd->operands ? " " : "", cmd->operands,
		   cmd->summary);
	for (const struct cmd *const *verb = cmd->verbs; verb && *verb; verb++)
		buf_printf(&text, "  %-10s %s\n", cmd_verb_name(*verb), (*verb)->summary);
	if (cmd->verbs)
		buf_printf(&text, "\n'auger %s VERB --help' lists the options of a verb\n\n",
			   cmd->name);
	opt_help(opts, &text);
	if (buf_error(&text) < 0)
		return err_nomem(e);
	fputs(text.data, stdout);
	return CMD_HELP_PRINTED;
}

/* Names of outputs that were patterns; for good, as argv. */
static struct {
	char paths[OUTPUTS_MAX][PATH_MAX]; /* [count] */
	size_t count;
} outputs;

static int expand_output(const struct opt *opt, const char **value, struct err *e)
{
	struct job_place place;
	char piece[JOB_PLACE_LEN], *path;
	const char *at = *value;
	size_t len, used = 0;

	if (outputs.count == OUTPUTS_MAX)
		return err_set(e, -EINVAL, "--%s: too many patterns", opt->long_name);
	path = outputs.paths[outputs.count];
	job_place_read(&place);
	while ((len = job_place_expand(&place, &at, piece))) {
		if (used + len >= PATH_MAX)
			return err_set(e, -EINVAL, "--%s: too long", opt->long_name);
		memcpy(path + used, piece, len);
		used += len;
	}
	path[used] = '\0';
	*value = path;
	outputs.count++;
	return 0;
}

/* Puts rank, host and so on into the names of outputs. */
static int expand_outputs(const struct opt *opts, char *args, struct err *e)
{
	int rc = 0;

	for (; rc == 0 && opts->kind != OPT_KIND_END; opts++) {
		void *value = args + opts->offset;

		if (opts->kind == OPT_KIND_INCLUDE) {
			rc = expand_outputs(opts->table, value, e);
		} else if (opts->is_output) {
			const char **path = value;

			if (*path && strchr(*path, '%'))
				rc = expand_output(opts, path, e);
		}
	}
	return rc;
}

int cmd_parse(const struct cmd *cmd, void *args, int argc, char **argv, int *ret_first,
	      struct err *e)
{
	const struct opt opts[] = WITH_COMMON(cmd);
	int rc = opt_parse(opts, args, argc, argv, cmd->runs_program, ret_first, e);

	if (rc == OPT_HELP_ASKED)
		return print_help(cmd, opts, e);
	if (rc == 0 && args)
		rc = expand_outputs(opts, args, e);
	return rc < 0 ? e->code = ERR_USAGE : 0;
}
