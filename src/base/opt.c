/* SPDX-License-Identifier: MIT */
#include "base/opt.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 96
#define FIRST_LONG_CODE 256 /* getopt's code of table row i is FIRST_LONG_CODE + i */

/* One row of the flattened table: an option and the struct that its offset counts from. */
struct row {
	const struct opt *opt;
	char *base;
};

struct flat {
	struct row rows[MAX_OPTIONS];
	size_t count;
};

static void flatten(const struct opt *opts, char *base, struct flat *ret)
{
	for (; opts->kind != OPT_KIND_END; opts++) {
		if (opts->kind == OPT_KIND_INCLUDE)
			flatten(opts->table, base ? base + opts->offset : NULL, ret);
		else if (ret->count < MAX_OPTIONS)
			ret->rows[ret->count++] = (struct row){ opts, base };
	}
}

static int bad_value(const struct opt *opt, const char *text, const char *want, struct err *e)
{
	return err_set(e, -EINVAL, "--%s: '%s' is not %s", opt->long_name, text, want);
}

static int out_of_range(const struct opt *opt, const char *text, struct err *e)
{
	return err_set(e, -EINVAL, "--%s: '%s' is not between %llu and %llu", opt->long_name, text,
		       (unsigned long long)opt->min, (unsigned long long)opt->max);
}

static int set_uint(const struct opt *opt, uint64_t *value, const char *text, struct err *e)
{
	char *end;
	unsigned long long parsed;

	errno = 0;
	parsed = strtoull(text, &end, 0);
	if (errno || end == text || *end || text[0] < '0' || text[0] > '9')
		return bad_value(opt, text, "a whole number", e);
	if ((opt->min || opt->max) && (parsed < opt->min || parsed > opt->max))
		return out_of_range(opt, text, e);
	*value = parsed;
	return 0;
}

static int set_real(const struct opt *opt, double *value, const char *text, struct err *e)
{
	char *end;
	double parsed;

	errno = 0;
	parsed = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(parsed))
		return bad_value(opt, text, "a number", e);
	if ((opt->min || opt->max) && (parsed < (double)opt->min || parsed > (double)opt->max))
		return out_of_range(opt, text, e);
	*value = parsed;
	return 0;
}

static int set_choice(const struct opt *opt, int *value, const char *text, struct err *e)
{
	for (int i = 0; opt->choices[i]; i++) {
		if (strcmp(opt->choices[i], text) == 0) {
			*value = i;
			return 0;
		}
	}
	return err_set(e, -EINVAL, "--%s: '%s' is not one of %s", opt->long_name, text,
		       opt->value_name);
}

static int add_item(const struct opt *opt, struct opt_list *list, const char *text, struct err *e)
{
	if (list->count == OPT_LIST_MAX)
		return err_set(e, -EINVAL, "--%s: given more than %d times", opt->long_name,
			       OPT_LIST_MAX);
	list->items[list->count++] = text;
	return 0;
}

static int set_value(const struct row *row, const char *text, struct err *e)
{
	const struct opt *opt = row->opt;
	void *value = row->base + opt->offset;

	switch (opt->kind) {
	case OPT_KIND_FLAG:
		*(bool *)value = true;
		return 0;
	case OPT_KIND_UINT:
		return set_uint(opt, value, text, e);
	case OPT_KIND_REAL:
		return set_real(opt, value, text, e);
	case OPT_KIND_STR:
		*(const char **)value = text;
		return 0;
	case OPT_KIND_LIST:
		return add_item(opt, value, text, e);
	case OPT_KIND_CHOICE:
		return set_choice(opt, value, text, e);
	case OPT_KIND_HELP:
		return OPT_HELP_ASKED;
	case OPT_KIND_END:
	case OPT_KIND_INCLUDE:
		break;
	}
	return 0;
}

static void make_getopt_tables(const struct flat *flat, char *shorts, struct option *longs,
			       bool stop_at_operand)
{
	if (stop_at_operand)
		*shorts++ = '+';
	*shorts++ = ':';
	for (size_t i = 0; i < flat->count; i++) {
		const struct opt *opt = flat->rows[i].opt;
		int takes = opt->value_name ? required_argument : no_argument;

		longs[i] = (struct option){ opt->long_name, takes, NULL, FIRST_LONG_CODE + (int)i };
		if (opt->short_name) {
			*shorts++ = (char)opt->short_name;
			if (takes == required_argument)
				*shorts++ = ':';
		}
	}
	*shorts = '\0';
}

static const struct row *find_row(const struct flat *flat, int code)
{
	if (code >= FIRST_LONG_CODE)
		return &flat->rows[code - FIRST_LONG_CODE];
	for (size_t i = 0; i < flat->count; i++)
		if (flat->rows[i].opt->short_name == code)
			return &flat->rows[i];
	return NULL;
}

static int explain_failure(int code, char **argv, struct err *e)
{
	const char *word = argv[optind - 1];

	if (code == ':')
		return err_set(e, -EINVAL, "option '%s' needs a value", word);
	if (optopt >= FIRST_LONG_CODE)
		return err_set(e, -EINVAL, "option '%s' takes no value", word);
	if (optopt)
		return err_set(e, -EINVAL, "unknown option '-%c'", optopt);
	return err_set(e, -EINVAL, "unknown option '%s'", word);
}

/* getopt accepts a unique prefix of a long name; a script that used one would break when
 * an option is added. */
static bool is_prefix_only(const struct row *row, int code, const char *word)
{
	size_t len = strlen(row->opt->long_name);

	return code >= FIRST_LONG_CODE && strncmp(word, "--", 2) == 0 &&
	       (strncmp(word + 2, row->opt->long_name, len) != 0 ||
		(word[2 + len] != '\0' && word[2 + len] != '='));
}

int opt_parse(const struct opt *opts, void *args, int argc, char **argv, bool stop_at_operand,
	      int *ret_first, struct err *e)
{
	char shorts[2 * MAX_OPTIONS + 3];
	struct option longs[MAX_OPTIONS + 1] = { 0 };
	struct flat flat = { 0 };

	flatten(opts, args, &flat);
	make_getopt_tables(&flat, shorts, longs, stop_at_operand);
	optind = 0; /* start anew: GNU */
	for (;;) {
		int word = optind ? optind : 1;
		int code = getopt_long(argc, argv, shorts, longs, NULL);
		const struct row *row;
		int rc;

		if (code == -1)
			break;
		row = code == ':' || code == '?' ? NULL : find_row(&flat, code);
		if (!row)
			return explain_failure(code, argv, e);
		if (code >= FIRST_LONG_CODE) {
			word = optind - 1;
			if (row->opt->value_name && optarg == argv[word])
				word--;
			if (is_prefix_only(row, code, argv[word]))
				return err_set(e, -EINVAL, "unknown option '%s'", argv[word]);
		}
		rc = set_value(row, optarg, e);
		if (rc)
			return rc;
	}
	*ret_first = optind;
	return 0;
}

void opt_help(const struct opt *opts, struct buf *out)
{
	struct flat flat = { 0 };

	flatten(opts, NULL, &flat);
	for (size_t i = 0; i < flat.count; i++) {
		const struct opt *opt = flat.rows[i].opt;
		char left[80];

		snprintf(left, sizeof left, "  %c%c%s --%s%s%s", opt->short_name ? '-' : ' ',
			 opt->short_name ? opt->short_name : ' ', opt->short_name ? "," : " ",
			 opt->long_name, opt->value_name ? " " : "",
			 opt->value_name ? opt->value_name : "");
		buf_printf(out, "%-30s %s\n", left, opt->help);
	}
}

void opt_complete(const struct opt *opts, struct buf *out)
{
	struct flat flat = { 0 };

	flatten(opts, NULL, &flat);
	for (size_t i = 0; i < flat.count; i++) {
		const struct opt *opt = flat.rows[i].opt;

		buf_printf(out, "--%s%s\n", opt->long_name, opt->value_name ? "=" : "");
		if (opt->short_name)
			buf_printf(out, "-%c\n", opt->short_name);
	}
}
