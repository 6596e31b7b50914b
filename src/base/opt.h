/* SPDX-License-Identifier: MIT */
/*
 * opt: one table of a command's options for parser, help and completion.
 *
 * Values are stored by offset in a struct of the command, which the caller fills with the defaults
 * beforehand. Strings are borrowed from argv.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

#define OPT_HELP_ASKED 1

#define OPT_LIST_MAX 64 /* times a repeatable option may be given */

enum opt_kind {
	OPT_KIND_END,
	OPT_KIND_FLAG,    /* bool */
	OPT_KIND_UINT,    /* uint64_t, decimal or 0x, within [min..max] */
	OPT_KIND_REAL,    /* double, within [min..max] */
	OPT_KIND_STR,     /* const char * */
	OPT_KIND_LIST,    /* struct opt_list: may be given again */
	OPT_KIND_CHOICE,  /* int: index into choices */
	OPT_KIND_INCLUDE, /* the options of another table, for a member of the struct */
	OPT_KIND_HELP,    /* takes no value, ends the parsing with OPT_HELP_ASKED */
	OPT_KIND_VERBOSE, /* takes no value, shows the log up to LOG_INFO, see log_shows() */
};

struct opt_list {
	const char *items[OPT_LIST_MAX]; /* [count]; borrowed */
	size_t count;
};

struct opt {
	enum opt_kind kind;
	int short_name;             /* a character, or 0 */
	const char *long_name;      /* without dashes */
	const char *value_name;     /* "N", "FILE", "a|b|c"; NULL for flags */
	size_t offset;              /* of the value in the command's struct */
	const char *help;           /* one clause, verb first: "Show N rows [default 40]" */
	uint64_t min, max;          /* UINT and REAL; both 0: any */
	const char *const *choices; /* CHOICE: ends with NULL */
	const struct opt *table;    /* INCLUDE */
	bool is_output;             /* STR: a file that is written; its name may be a pattern */
};

#define OPT_FLAG(s, l, type, member, text)                                  \
	{                                                                   \
		.kind = OPT_KIND_FLAG, .short_name = (s), .long_name = (l), \
		.offset = offsetof(type, member), .help = (text)            \
	}
#define OPT_UINT(s, l, v, type, member, lo, hi, text)                                          \
	{                                                                                      \
		.kind = OPT_KIND_UINT, .short_name = (s), .long_name = (l), .value_name = (v), \
		.offset = offsetof(type, member), .help = (text), .min = (lo), .max = (hi)     \
	}
#define OPT_REAL(s, l, v, type, member, lo, hi, text)                                          \
	{                                                                                      \
		.kind = OPT_KIND_REAL, .short_name = (s), .long_name = (l), .value_name = (v), \
		.offset = offsetof(type, member), .help = (text), .min = (lo), .max = (hi)     \
	}
#define OPT_STR(s, l, v, type, member, text)                                                  \
	{                                                                                     \
		.kind = OPT_KIND_STR, .short_name = (s), .long_name = (l), .value_name = (v), \
		.offset = offsetof(type, member), .help = (text)                              \
	}
#define OPT_OUTPUT(s, l, v, type, member, text)                                               \
	{                                                                                     \
		.kind = OPT_KIND_STR, .short_name = (s), .long_name = (l), .value_name = (v), \
		.offset = offsetof(type, member), .help = (text), .is_output = true           \
	}
#define OPT_LIST(s, l, v, type, member, text)                                                  \
	{                                                                                      \
		.kind = OPT_KIND_LIST, .short_name = (s), .long_name = (l), .value_name = (v), \
		.offset = offsetof(type, member), .help = (text)                               \
	}
#define OPT_CHOICE(s, l, v, type, member, names, text)                                           \
	{                                                                                        \
		.kind = OPT_KIND_CHOICE, .short_name = (s), .long_name = (l), .value_name = (v), \
		.offset = offsetof(type, member), .help = (text), .choices = (names)             \
	}
#define OPT_INCLUDE(type, member, opts)                                                     \
	{                                                                                   \
		.kind = OPT_KIND_INCLUDE, .offset = offsetof(type, member), .table = (opts) \
	}
#define OPT_HELP(text)                                                                        \
	{                                                                                     \
		.kind = OPT_KIND_HELP, .short_name = 'h', .long_name = "help", .help = (text) \
	}
#define OPT_VERBOSE(text)                                                            \
	{                                                                            \
		.kind = OPT_KIND_VERBOSE, .short_name = 'v', .long_name = "verbose", \
		.help = (text)                                                       \
	}
#define OPT_END                      \
	{                            \
		.kind = OPT_KIND_END \
	}

/*
 * Parses argv[1..argc). Operands are moved behind the options; *ret_first is the index of
 * the first operand. stop_at_operand: everything from the first operand on is an operand
 * (commands that run a program). "--" ends the options. Returns 0, OPT_HELP_ASKED, or -EINVAL
 * with the reason: an unknown option (and those with a name like it), a missing or bad value.
 */
int opt_parse(const struct opt *opts, void *args, int argc, char **argv, bool stop_at_operand,
	      int *ret_first, struct err *e) MUST_CHECK;

/* What the options are, for --help: two columns, the right one wrapped before column 100. */
void opt_help(const struct opt *opts, struct buf *out);

/*
 * For the shell's completion, one line an option: "-n --name", "--name". A '=' follows a long
 * name that takes a value, and then the choices if it has them: "-f --format=table|csv|json".
 */
void opt_complete(const struct opt *opts, struct buf *out);

#endif
