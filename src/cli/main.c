/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/exit.h"

/* clang-format off */
static const struct cmd *const cmds[] = {
	&cmd_record,
	&cmd_report,
	&cmd_annotate,
	&cmd_diff,
	&cmd_top,
	&cmd_flame,
	&cmd_convert,
	&cmd_merge,
	&cmd_stat,
	&cmd_syscalls,
	&cmd_stages,
	&cmd_cache,
	&cmd_relocate,
	&cmd_doctor,
#ifdef HAVE_FUSE
	&cmd_control,
#endif
	NULL,
};
/* clang-format on */

static void print_log(enum log_level level, const char *domain, const char *text)
{
	if (level == LOG_WARN)
		fprintf(stderr, "auger: %s\n", text);
	else
		fprintf(stderr, "auger: %s: %s\n", domain, text);
}

/*
 * A standard descriptor that is closed would be the next file that is opened, and words would
 * go into it. What stands in its place reads and writes nothing, and is not inherited.
 */
static void fill_closed(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return;
}

static const struct cmd *find_cmd(const char *name)
{
	for (size_t i = 0; cmds[i]; i++)
		if (strcmp(cmds[i]->name, name) == 0)
			return cmds[i];
	return NULL;
}

static void print_help(void)
{
	puts("usage: auger COMMAND [options]\n"
	     "\n"
	     "where the time and the memory of a program go\n");
	for (size_t i = 0; cmds[i]; i++)
		printf("  %-10s %s\n", cmds[i]->name, cmds[i]->summary);
	puts("\n'auger COMMAND --help' lists a command's options, 'man auger-COMMAND' tells all");
}

/* Machine-readable, for the shell's completion: commands, or one command's options. */
static int complete(const struct cmd *cmd)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	if (cmd)
		opt_complete(cmd->opts, &text);
	for (size_t i = 0; cmd && cmd->verbs && cmd->verbs[i]; i++)
		opt_complete(cmd->verbs[i]->opts, &text);
	for (size_t i = 0; !cmd && cmds[i]; i++)
		buf_printf(&text, "%s\t%s\n", cmds[i]->name, cmds[i]->summary);
	if (buf_error(&text) < 0)
		return EXIT_FAILURE;
	fputs(text.data ? text.data : "", stdout);
	return EXIT_SUCCESS;
}

/* The last word of a verb's name is what it is called by. */
static const struct cmd *find_verb(const struct cmd *cmd, const char *word)
{
	for (size_t i = 0; cmd->verbs && cmd->verbs[i]; i++)
		if (strcmp(strrchr(cmd->verbs[i]->name, ' ') + 1, word) == 0)
			return cmd->verbs[i];
	return NULL;
}

static int run_cmd(const struct cmd *cmd, int argc, char **argv)
{
	struct err e = { 0 };
	int rc = argc == 2 && strcmp(argv[1], "--complete") == 0 ? complete(cmd)
								 : cmd->run(argc, argv, &e);

	if (rc == CMD_HELP_PRINTED)
		return EXIT_SUCCESS;
	if (rc >= 0)
		return rc;
	fprintf(stderr, "auger %s: %s\n", cmd->name, e.msg);
	return rc == CMD_WRONG_USAGE ? 2 : EXIT_FAILURE;
}

static int run(int argc, char **argv)
{
	const struct cmd *cmd, *verb;

	if (argc < 2) {
		fputs("auger: no command; 'auger --help' lists them\n", stderr);
		return 2;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help();
		return EXIT_SUCCESS;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("auger " AUGER_VERSION);
		return EXIT_SUCCESS;
	}
	if (strcmp(argv[1], "--complete") == 0)
		return complete(NULL);
	cmd = find_cmd(argv[1]);
	if (!cmd) {
		fprintf(stderr, "auger: unknown command '%s'; 'auger --help' lists them\n",
			argv[1]);
		return 2;
	}
	argc--;
	argv++;
	verb = argc > 1 ? find_verb(cmd, argv[1]) : NULL;
	return verb ? run_cmd(verb, argc - 1, argv + 1) : run_cmd(cmd, argc, argv);
}

int main(int argc, char **argv)
{
	int status;

	fill_closed();
	log_open(print_log, getenv("AUGER_LOG"));
	status = run(argc, argv);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "auger: standard output: %s\n", strerror(errno));
		return status ? status : EXIT_FAILURE;
	}
	return status;
}
