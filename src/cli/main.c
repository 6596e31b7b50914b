/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cli/cmd.h"
#include "cli/fetch_progress.h"
#include "symbol/naming.h"
#include "target/inherited.h"

#ifdef HAVE_FUSE
#define CONTROL &cmd_control,
#else
#define CONTROL
#endif

/* Commands by the task they are for, in the order of the help. */
static const struct group {
	const char *task;
	const struct cmd *cmds[8]; /* ends with NULL */
} groups[] = {
	{ "Record", { &cmd_record, &cmd_stat, &cmd_heap, &cmd_syscalls, CONTROL &cmd_doctor } },
	{ "Look", { &cmd_report, &cmd_annotate, &cmd_flame, &cmd_view, &cmd_top, &cmd_stacks } },
	{ "Compare and convert", { &cmd_diff, &cmd_merge, &cmd_convert } },
	{ "Whole job", { &cmd_stages, &cmd_cache } },
	{ "Act", { &cmd_relocate } },
};

/* Words that main itself answers. */
static const char *const own_words[] = { "help", "version", NULL };

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
	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		for (const struct cmd *const *cmd = groups[i].cmds; *cmd; cmd++)
			if (strcmp((*cmd)->name, name) == 0)
				return *cmd;
	return NULL;
}

static void print_help(void)
{
	puts("usage: auger COMMAND [options]\n\n"
	     "where the time, the memory and the waiting of a program go");
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		printf("\n%s\n", groups[i].task);
		for (const struct cmd *const *cmd = groups[i].cmds; *cmd; cmd++)
			printf("  %-10s %s\n", (*cmd)->name, (*cmd)->summary);
	}
	puts("\n'auger help COMMAND' lists the options of a command, 'man auger-COMMAND' explains\n"
	     "them with examples; 'auger version' prints the version");
}

/* Machine-readable, for the shell's completion: commands, or one command's options. */
static int complete(const struct cmd *cmd)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	if (cmd)
		cmd_complete(cmd, &text);
	for (size_t i = 0; !cmd && i < ARRAY_LEN(groups); i++)
		for (const struct cmd *const *c = groups[i].cmds; *c; c++)
			buf_printf(&text, "%s\t%s\n", (*c)->name, (*c)->summary);
	if (buf_error(&text) < 0)
		return EXIT_FAILURE;
	fputs(text.data ? text.data : "", stdout);
	return EXIT_SUCCESS;
}

static const struct cmd *find_verb(const struct cmd *cmd, const char *word)
{
	for (size_t i = 0; cmd->verbs && cmd->verbs[i]; i++)
		if (strcmp(cmd_verb_name(cmd->verbs[i]), word) == 0)
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
	return rc == ERR_USAGE ? 2 : EXIT_FAILURE;
}

static int unknown_command(const char *name)
{
	struct nearest near = nearest_start(name, strlen(name));
	const char *hint;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		for (const struct cmd *const *cmd = groups[i].cmds; *cmd; cmd++)
			nearest_add(&near, (*cmd)->name);
	nearest_add_list(&near, own_words);
	hint = nearest_text(&near, "");
	err_usage(&e, "unknown command '%s'%s", name, *hint ? hint : "; 'auger help' lists them");
	fprintf(stderr, "auger: %s\n", e.msg);
	return 2;
}

/* argv[0]: the name of a command. */
static int run_named(int argc, char **argv)
{
	const struct cmd *cmd = find_cmd(argv[0]), *verb;

	if (!cmd)
		return unknown_command(argv[0]);
	verb = argc > 1 ? find_verb(cmd, argv[1]) : NULL;
	return verb ? run_cmd(verb, argc - 1, argv + 1) : run_cmd(cmd, argc, argv);
}

/* argv[1..argc): nothing, a command, or a command and its verb: "cache run". */
static int help(int argc, char **argv)
{
	char option[] = "--help", *words[4] = { 0 };
	int count = argc - 1 < 2 ? argc - 1 : 2;

	if (!count) {
		print_help();
		return EXIT_SUCCESS;
	}
	memcpy(words, argv + 1, (size_t)count * sizeof *words);
	words[count] = option;
	return run_named(count + 1, words);
}

static int run(int argc, char **argv)
{
	const char *word = argc < 2 ? "" : argv[1];

	if (argc < 2) {
		fputs("auger: no command; 'auger help' lists them\n", stderr);
		return 2;
	}
	if (strcmp(word, "help") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help(1, argv);
	if (strcmp(word, "version") == 0 || strcmp(word, "--version") == 0) {
		puts("auger " AUGER_VERSION);
		return EXIT_SUCCESS;
	}
	if (strcmp(word, "--complete") == 0)
		return complete(NULL);
	return run_named(argc - 1, argv + 1);
}

static void file_is_too_large(int number)
{
	(void)number;
}

/* A file beyond RLIMIT_FSIZE is an error of write(2), not our end. With a handler, because commands
 * would inherit that the signal is ignored. */
static void outlive_file_limits(void)
{
	const struct sigaction action = { .sa_handler = file_is_too_large, .sa_flags = SA_RESTART };
	struct sigaction old;

	if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
	int status;

	if (argc == 2 && strcmp(argv[1], NAMING_VERB) == 0)
		return naming_serve();
	fill_closed();
	inherited_take();
	naming_isolate(&naming_defaults);
	outlive_file_limits();
	log_open(print_log, getenv("AUGER_LOG"));
	fetch_progress_enable();
	status = run(argc, argv);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "auger: standard output: %s\n", strerror(errno));
		return status ? status : EXIT_FAILURE;
	}
	return status;
}
