/* SPDX-License-Identifier: MIT */
#include "base/opt.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"

#define HELP_COLUMN 31 /* where the help texts start */
#define HELP_WIDTH 68  /* columns of a help text */

/* An option and where its value goes. */
struct target {
	const struct opt *opt; /* NULL: no such option */
	void *value;
};

static int bad_value(const struct opt *opt, const char *text, const char *want, struct err *e)
{
	return err_set(e, -EINVAL, "--%s: '%s' is not %s", opt->long_name, text, want);
}

static int out_of_range(const struct opt *opt, const char *text, struct err *e)
{
	if (opt->max == UINT64_MAX)
		return err_set(e, -EINVAL, "--%s: '%s' is less than %llu", opt->long_name, text,
			       (unsigned long long)opt->min);
	return err_set(e, -EINVAL, "--%s: '%s' is not between %llu and %llu", opt->long_name, text,
		       (unsigned long long)opt->min, (unsigned long long)opt->max);
}

static int set_uint(const struct opt *opt, uint64_t *value, const char *text, struct err *e)
{
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	unsigned long long parsed;
	char *end;

	errno = 0;
	parsed = strtoull(text, &end, is_hex ? 16 : 10);
	if (errno || *end || text[0] < '0' || text[0] > '9')
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
	struct nearest near = nearest_start(text, strlen(text));

	for (int i = 0; opt->choices[i]; i++) {
		if (strcmp(opt->choices[i], text) == 0) {
			*value = i;
			return 0;
		}
	}
	nearest_add_list(&near, opt->choices);
	return err_set(e, -EINVAL, "--%s: '%s' is not one of %s%s", opt->long_name, text,
		       opt->value_name, nearest_text(&near, ""));
}

static int add_item(const struct opt *opt, struct opt_list *list, const char *text, struct err *e)
{
	if (list->count == OPT_LIST_MAX)
		return err_set(e, -EINVAL, "--%s: given more than %d times", opt->long_name,
			       OPT_LIST_MAX);
	list->items[list->count++] = text;
	return 0;
}

static int set_value(struct target to, const char *text, struct err *e)
{
	switch (to.opt->kind) {
	case OPT_KIND_FLAG:
		*(bool *)to.value = true;
		return 0;
	case OPT_KIND_UINT:
		return set_uint(to.opt, to.value, text, e);
	case OPT_KIND_REAL:
		return set_real(to.opt, to.value, text, e);
	case OPT_KIND_STR:
		*(const char **)to.value = text;
		return 0;
	case OPT_KIND_LIST:
		return add_item(to.opt, to.value, text, e);
	case OPT_KIND_CHOICE:
		return set_choice(to.opt, to.value, text, e);
	case OPT_KIND_HELP:
		return OPT_HELP_ASKED;
	case OPT_KIND_VERBOSE:
		log_raise(LOG_INFO);
		return 0;
	case OPT_KIND_END:
	case OPT_KIND_INCLUDE:
		break;
	}
	assert(false);
	return 0;
}

static bool is_long_name(const struct opt *opt, const char *name, size_t len)
{
	return strncmp(opt->long_name, name, len) == 0 && opt->long_name[len] == '\0';
}

/* By long name, or by letter when name is NULL. */
static struct target find(const struct opt *opts, char *args, const char *name, size_t len,
			  char letter)
{
	for (; opts->kind != OPT_KIND_END; opts++) {
		char *value = args ? args + opts->offset : NULL;

		if (opts->kind == OPT_KIND_INCLUDE) {
			struct target inner = find(opts->table, value, name, len, letter);

			if (inner.opt)
				return inner;
		} else if (name ? is_long_name(opts, name, len) : opts->short_name == letter) {
			return (struct target){ opts, value };
		}
	}
	return (struct target){ 0 };
}

static void add_names(struct nearest *near, const struct opt *opts)
{
	for (; opts->kind != OPT_KIND_END; opts++) {
		if (opts->kind == OPT_KIND_INCLUDE)
			add_names(near, opts->table);
		else
			nearest_add(near, opts->long_name);
	}
}

/* name: [len], without its dashes. */
static int unknown_option(const struct opt *opts, const char *dashes, const char *name, size_t len,
			  struct err *e)
{
	struct nearest near = nearest_start(name, len);

	if (len > 1)
		add_names(&near, opts);
	return err_set(e, -EINVAL, "unknown option '%s%.*s'%s", dashes, (int)len, name,
		       nearest_text(&near, "--"));
}

/* The words of a command line; options and their values are taken out one by one. */
struct words {
	char **argv; /* [argc] */
	int argc;
	int first; /* operands met so far: argv[first..next) */
	int next;  /* not looked at yet: argv[next..argc) */
};

/* The next word, moved before the operands; NULL when there is none. */
static char *take_word(struct words *w)
{
	char *word;

	if (w->next == w->argc)
		return NULL;
	word = w->argv[w->next];
	memmove(&w->argv[w->first + 1], &w->argv[w->first],
		(size_t)(w->next - w->first) * sizeof *w->argv);
	w->argv[w->first++] = word;
	w->next++;
	return word;
}

static int parse_long(const struct opt *opts, void *args, const char *name, struct words *w,
		      struct err *e)
{
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	struct target to = find(opts, args, name, len, 0);

	if (!to.opt)
		return unknown_option(opts, "--", name, len, e);
	if (!to.opt->value_name && value)
		return err_set(e, -EINVAL, "option '--%s' takes no value", to.opt->long_name);
	if (to.opt->value_name && !value)
		value = take_word(w);
	if (to.opt->value_name && !value)
		return err_set(e, -EINVAL, "option '--%s' needs a value", to.opt->long_name);
	return set_value(to, value, e);
}

/* One or more letters; the rest of the word is the value of the first that takes one. */
static int parse_letters(const struct opt *opts, void *args, const char *letters, struct words *w,
			 struct err *e)
{
	for (; *letters; letters++) {
		struct target to = find(opts, args, NULL, 0, *letters);
		const char *value;
		int rc;

		if (!to.opt)
			return unknown_option(opts, "-", letters, strlen(letters), e);
		if (to.opt->value_name) {
			value = letters[1] ? letters + 1 : take_word(w);
			if (!value)
				return err_set(e, -EINVAL, "option '-%c' needs a value", *letters);
			return set_value(to, value, e);
		}
		rc = set_value(to, NULL, e);
		if (rc)
			return rc;
	}
	return 0;
}

int opt_parse(const struct opt *opts, void *args, int argc, char **argv, bool stop_at_operand,
	      int *ret_first, struct err *e)
{
	struct words w = { argv, argc, .first = 1, .next = 1 };

	while (w.next < argc) {
		const char *word = argv[w.next];
		int rc;

		if (word[0] != '-' || word[1] == '\0') {
			if (stop_at_operand)
				break;
			w.next++;
			continue;
		}
		take_word(&w);
		if (strcmp(word, "--") == 0)
			break;
		rc = word[1] == '-' ? parse_long(opts, args, word + 2, &w, e)
				    : parse_letters(opts, args, word + 1, &w, e);
		if (rc)
			return rc;
	}
	*ret_first = w.first;
	return 0;
}

/* Bytes of the text that fit on one line, cut at a blank if there is one. */
static size_t fitting(const char *text)
{
	size_t len = strlen(text), at = HELP_WIDTH;

	if (len <= HELP_WIDTH)
		return len;
	while (at && text[at] != ' ')
		at--;
	return at ? at : strcspn(text, " ");
}

/* width: columns that are taken already. */
static void help_text(const char *text, size_t width, struct buf *out)
{
	for (;;) {
		size_t len = fitting(text);

		buf_printf(out, "%*s%.*s\n", (int)(HELP_COLUMN - width), "", (int)len, text);
		text += len;
		if (!*text)
			return;
		text++; /* the blank */
		width = 0;
	}
}

static void help_line(const struct opt *opt, struct buf *out)
{
	size_t start = out->len, width;

	if (opt->short_name)
		buf_printf(out, "  -%c, --%s", opt->short_name, opt->long_name);
	else
		buf_printf(out, "      --%s", opt->long_name);
	if (opt->value_name)
		buf_printf(out, " %s", opt->value_name);
	width = out->len - start;
	if (width >= HELP_COLUMN) {
		buf_put_byte(out, '\n');
		width = 0;
	}
	help_text(opt->help, width, out);
}

void opt_help(const struct opt *opts, struct buf *out)
{
	for (; opts->kind != OPT_KIND_END; opts++) {
		if (opts->kind == OPT_KIND_INCLUDE)
			opt_help(opts->table, out);
		else
			help_line(opts, out);
	}
}

static void complete_option(const struct opt *opt, struct buf *out)
{
	if (opt->short_name)
		buf_printf(out, "-%c ", opt->short_name);
	buf_printf(out, "--%s%s", opt->long_name, opt->value_name ? "=" : "");
	for (size_t i = 0; opt->choices && opt->choices[i]; i++)
		buf_printf(out, "%s%s", i ? "|" : "", opt->choices[i]);
	buf_put_byte(out, '\n');
}

void opt_complete(const struct opt *opts, struct buf *out)
{
	for (; opts->kind != OPT_KIND_END; opts++) {
		if (opts->kind == OPT_KIND_INCLUDE)
			opt_complete(opts->table, out);
		else
			complete_option(opts, out);
	}
}
