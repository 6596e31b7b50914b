/* SPDX-License-Identifier: MIT */
/* cmd: a subcommand is one file with one const struct; main.c has the table of them. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "base/err.h"
#include "base/opt.h"

/* What run returns besides exit statuses and errors: exit status 0. */
#define CMD_HELP_PRINTED (-5001)

struct cmd {
	const char *name;
	const char *operands;   /* for the usage line: "[FILE]", "-- CMD [ARG...]" */
	const char *summary;    /* lower case, no full stop */
	const char *verbose;    /* what -v adds: "Also print ..."; NULL: what every command logs */
	const struct opt *opts; /* ends with OPT_END; --verbose and --help are added to each */
	bool runs_program;      /* the first operand ends the options */

	/* Commands of their own when their last word is the first one behind the name of this one:
	 * "cache aggregate". Ends with NULL; NULL: none. */
	const struct cmd *const *verbs;

	/* argv[0] is the command's name. Returns an exit status (0 done, the status of the
	 * program it ran), or an error with the reason in e: a negative errno, ERR_USAGE, or what
	 * cmd_parse() returned. */
	int (*run)(int argc, char **argv, struct err *e);
};

/* Was -v given? For what tables show then; messages go through log_msg(LOG_INFO, ...). */
bool cmd_is_verbose(void);

/* Prints why the program cannot be executed. Returns the exit status for it: 127 or 126, as of
 * shells. */
int cmd_exec_failed(const char *name, const struct err *e);

/* The word that calls a verb: "aggregate" of "cache aggregate". */
const char *cmd_verb_name(const struct cmd *verb);

/* For the shell's completion: the options of the command, then "VERB\tSUMMARY" of its verbs. */
void cmd_complete(const struct cmd *cmd, struct buf *out);

/* Parses the options; *ret_first is the first operand. Negative: run must return it
 * (wrong usage, or --help was asked for and is printed). */
int cmd_parse(const struct cmd *cmd, void *args, int argc, char **argv, int *ret_first,
	      struct err *e) MUST_CHECK;

extern const struct cmd cmd_annotate;
extern const struct cmd cmd_cache;
extern const struct cmd cmd_cache_aggregate;
extern const struct cmd cmd_cache_launch;
extern const struct cmd cmd_cache_mount;
extern const struct cmd cmd_cache_paths;
extern const struct cmd cmd_cache_reset;
extern const struct cmd cmd_cache_run;
extern const struct cmd cmd_cache_snapshot;
extern const struct cmd cmd_cache_stats;
extern const struct cmd cmd_cache_stop;
extern const struct cmd cmd_cache_umount;
extern const struct cmd cmd_control;
extern const struct cmd cmd_convert;
extern const struct cmd cmd_diff;
extern const struct cmd cmd_doctor;
extern const struct cmd cmd_flame;
extern const struct cmd cmd_heap;
extern const struct cmd cmd_merge;
extern const struct cmd cmd_record;
extern const struct cmd cmd_relocate;
extern const struct cmd cmd_report;
extern const struct cmd cmd_stacks;
extern const struct cmd cmd_stages;
extern const struct cmd cmd_stat;
extern const struct cmd cmd_syscalls;
extern const struct cmd cmd_top;
extern const struct cmd cmd_view;

#endif
