/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/classes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/rows.h"
#include "base/str.h"
#include "base/strtab.h"

/* data/cache/path-classes.txt, embedded by tools/embed.py */
extern const char path_classes[];
extern const size_t path_classes_len;

struct rule {
	uint32_t class;
	bool is_of_absent, is_of_present;
	struct str pattern;
};

struct classes {
	struct strtab *names, *patterns;
	struct rows rules; /* struct rule */
};

bool classes_pattern_fits(const char *pattern, size_t pattern_len, const char *text, size_t len)
{
	const char *star = memchr(pattern, '*', pattern_len);
	size_t piece = star ? (size_t)(star - pattern) : pattern_len;

	if (len < piece || memcmp(text, pattern, piece) != 0)
		return false;
	if (!star)
		return len == piece;
	/* The piece between two stars is matched where it comes first, the last piece at the end.
	 */
	while (star) {
		const char *next;

		text += piece;
		len -= piece;
		pattern_len -= piece + 1;
		pattern = star + 1;
		star = memchr(pattern, '*', pattern_len);
		piece = star ? (size_t)(star - pattern) : pattern_len;
		if (!star)
			break;
		next = memmem(text, len, pattern, piece);
		if (!next)
			return false;
		len -= (size_t)(next - text);
		text = next;
	}
	return len >= piece && memcmp(text + len - piece, pattern, piece) == 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of a line; len 0: none. */
static struct str take_word(const char **at, const char *end)
{
	const char *start;

	while (*at < end && is_blank(**at))
		(*at)++;
	start = *at;
	while (*at < end && !is_blank(**at))
		(*at)++;
	return (struct str){ start, (size_t)(*at - start) };
}

/* Names go into tables and files unescaped. */
static bool is_name(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+",
			    s.ptr[i]) ||
		    !s.ptr[i])
			return false;
	return s.len != 0;
}

static int add_rule(struct classes *c, struct str class, struct str when, struct str pattern,
		    struct err *e)
{
	struct rule *rule;
	uint32_t id;

	if (!is_name(class))
		return err_set(e, -EINVAL, "'%.*s' is not a name of a class", (int)class.len,
			       class.ptr);
	if (!str_equals(when, "absent") && !str_equals(when, "present") && !str_equals(when, "any"))
		return err_set(e, -EINVAL, "'%.*s' is not absent, present or any", (int)when.len,
			       when.ptr);
	if (!pattern.len)
		return err_set(e, -EINVAL, "no pattern");
	id = strtab_intern(c->patterns, pattern.ptr, pattern.len);
	rule = rows_add(&c->rules, sizeof *rule);
	if (id == STRTAB_NONE || !rule)
		return err_nomem(e);
	rule->pattern = strtab_get(c->patterns, id);
	rule->class = strtab_intern(c->names, class.ptr, class.len);
	rule->is_of_absent = !str_equals(when, "present");
	rule->is_of_present = !str_equals(when, "absent");
	return rule->class == STRTAB_NONE ? err_nomem(e) : 0;
}

static int add_line(struct classes *c, const char *line, size_t len, struct err *e)
{
	const char *at = line, *end = line + len;
	struct str class = take_word(&at, end), when, pattern;

	if (!class.len || class.ptr[0] == '#')
		return 0;
	when = take_word(&at, end);
	pattern = take_word(&at, end);
	while (end > pattern.ptr && is_blank(end[-1]))
		end--;
	pattern.len = (size_t)(end - pattern.ptr); /* a pattern may contain blanks */
	return add_rule(c, class, when, pattern, e);
}

static int add_rules(struct classes *c, const char *text, size_t len, struct err *e)
{
	struct cursor in = cursor_make(text, len);
	const char *line;
	size_t line_len, number = 0;

	while (cursor_line(&in, &line, &line_len)) {
		number++;
		if (add_line(c, line, line_len, e) < 0)
			return e->code == -ENOMEM ? e->code : err_wrap(e, "line %zu", number);
	}
	return 0;
}

int classes_new(const char *text, size_t len, struct classes **ret, struct err *e)
{
	struct classes *c = calloc(1, sizeof *c);
	int rc;

	if (!c)
		return err_nomem(e);
	c->names = strtab_new();
	c->patterns = strtab_new();
	rc = c->names && c->patterns ? 0 : err_nomem(e);
	if (rc == 0 && text)
		rc = add_rules(c, text, len, e);
	if (rc == 0)
		rc = add_rules(c, path_classes, path_classes_len, e);
	if (rc < 0) {
		classes_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void classes_free(struct classes *c)
{
	if (!c)
		return;
	strtab_free(c->names);
	strtab_free(c->patterns);
	rows_fini(&c->rules);
	free(c);
}

uint32_t classes_find(const struct classes *c, bool is_absent, const char *path, size_t len)
{
	const struct rule *rules = c->rules.data;
	size_t i = 0;

	while (!(is_absent ? rules[i].is_of_absent : rules[i].is_of_present) ||
	       !classes_pattern_fits(rules[i].pattern.ptr, rules[i].pattern.len, path, len)) {
		i++;
		assert(i < c->rules.count); /* the last rule matches every path */
	}
	return rules[i].class;
}

size_t classes_count(const struct classes *c)
{
	return strtab_count(c->names);
}

const char *classes_name(const struct classes *c, uint32_t id)
{
	return strtab_get(c->names, id).ptr;
}
