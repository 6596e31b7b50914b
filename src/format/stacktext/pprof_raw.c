/* SPDX-License-Identifier: MIT */
#include "format/stacktext/pprof_raw.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/number.h"
#include "format/stacktext/stacktext.h"

/* A function of a location; those of one location follow one another, innermost first. */
struct function_line {
	struct str name, file;
	int64_t line;
	bool is_last; /* of its location */
};

struct reader {
	struct stacktext *t;
	size_t type_count;
	struct rows lines;    /* struct function_line */
	struct map locations; /* number to the first in lines */
};

static void reader_fini(struct reader *r)
{
	rows_fini(&r->lines);
	map_fini(&r->locations);
}

static size_t count_digits(struct str s)
{
	size_t len = 0;

	while (len < s.len && number_is_digit(s.ptr[len]))
		len++;
	return len;
}

/* "12 " or "-12 " at the start of s, which moves behind it. */
static bool take_number(struct str *s, int64_t *ret)
{
	struct str rest = str_skip_blanks(*s);
	bool is_negative = str_starts_with(rest, "-");
	size_t digits;

	rest = str_part(rest, is_negative, rest.len);
	digits = count_digits(rest);
	if (!digits || !stacktext_number(str_part(rest, 0, digits), ret))
		return false;
	if (is_negative)
		*ret = -*ret;
	*s = str_part(rest, digits, rest.len);
	return true;
}

/* "main.fib /srv/fib.go:4 s=0", or with a column "/srv/fib.go:4:12" */
static void parse_function(struct str s, struct function_line *ret)
{
	size_t start = s.len, digits;
	const char *blank;
	uint64_t line = 0;

	*ret = (struct function_line){ .name = s };
	if ((digits = str_find(s, " s=")) < s.len)
		s.len = start = digits;
	blank = s.len ? memrchr(s.ptr, ' ', s.len) : NULL;
	if (!blank)
		return;
	start = (size_t)(blank - s.ptr);
	ret->name = str_trim(str_part(s, 0, start));
	ret->file = str_part(s, start + 1, s.len);
	start = str_find(ret->file, ":");
	if (number_parse(ret->file.ptr + start, ret->file.len - start, &line))
		return;
	if (start + 1 < ret->file.len)
		number_parse(ret->file.ptr + start + 1, ret->file.len - start - 1, &line);
	ret->line = line <= INT32_MAX ? (int64_t)line : 0;
	ret->file.len = start;
}

static bool add_function(struct reader *r, struct str s)
{
	struct function_line *line = rows_add(&r->lines, sizeof *line);

	if (!line) {
		stacktext_fail(r->t);
		return false;
	}
	parse_function(s, line);
	line->is_last = true;
	return true;
}

/* "     1: 0x4a895f M=1 main.fib /srv/fib.go:4 s=0"; *ret_rest is the function. */
static bool parse_location(struct str line, uint64_t *ret_id, struct str *ret_rest)
{
	struct str rest = line, word;
	int64_t id;

	if (!take_number(&rest, &id) || id < 0 || !str_starts_with(rest, ": 0x"))
		return false;
	rest = str_part(rest, 2, rest.len);
	word = str_take_word(&rest);
	rest = str_skip_blanks(rest);
	if (str_starts_with(rest, "M=")) {
		str_take_word(&rest);
		rest = str_skip_blanks(rest);
	}
	*ret_id = (uint64_t)id;
	*ret_rest = rest.len ? rest : word;
	return true;
}

/* A location, or what follows one: the function that the one before is inlined in. */
static void read_location(struct reader *r, struct str line)
{
	struct function_line *lines;
	uint32_t *first;
	struct str rest;
	uint64_t id;

	if (parse_location(line, &id, &rest)) {
		first = map_at(&r->locations, id);
		if (!first)
			stacktext_fail(r->t);
		else if (add_function(r, rest))
			*first = (uint32_t)r->lines.count - 1;
		return;
	}
	if (!r->lines.count || !add_function(r, str_trim(line)))
		return;
	lines = r->lines.data;
	lines[r->lines.count - 2].is_last = false;
}

static void read_locations(struct reader *r)
{
	bool is_there = false;
	struct str line;

	while (stacktext_line(r->t, &line)) {
		if (str_starts_with(line, "Mappings"))
			return;
		if (is_there && line.len)
			read_location(r, line);
		is_there |= str_starts_with(line, "Locations");
	}
}

static void push_location(struct reader *r, uint64_t id)
{
	const struct function_line *lines = r->lines.data;
	uint32_t i = map_get(&r->locations, id);

	if (i == MAP_NONE) {
		stacktext_push(r->t, (struct str){ "", 0 });
		return;
	}
	do
		stacktext_push_at(r->t, lines[i].name, lines[i].file, lines[i].line);
	while (!lines[i++].is_last);
}

/* "          2   20000000: 1 2" */
static bool read_sample(struct reader *r, struct str line)
{
	int64_t values[PROFILE_MAX_TYPES] = { 0 }, id;
	struct str rest = line;

	for (size_t i = 0; i < r->type_count; i++)
		if (!take_number(&rest, &values[i]))
			return false;
	if (!str_starts_with(rest, ":"))
		return false;
	rest = str_part(rest, 1, rest.len);
	while (take_number(&rest, &id))
		push_location(r, (uint64_t)id);
	stacktext_add_all(r->t, true, values);
	stacktext_cut(r->t, 0);
	return true;
}

/* "samples/count cpu/nanoseconds[dflt]" */
static void read_types(struct reader *r, struct str line)
{
	static const char mark[] = "[dflt]";
	bool is_chosen = false;
	struct str word;

	while ((word = str_take_word(&line)).len && r->type_count < PROFILE_MAX_TYPES) {
		char type[64], unit[64];
		bool is_default = str_ends_with(word, mark);
		size_t slash;

		if (is_default)
			word.len -= sizeof mark - 1;
		slash = str_find(word, "/");
		snprintf(type, sizeof type, "%.*s", (int)slash, word.ptr);
		snprintf(unit, sizeof unit, "%.*s", (int)(word.len - slash - (slash < word.len)),
			 word.ptr + slash + (slash < word.len));
		stacktext_set_type(r->t, type, unit);
		if (profile_error(r->t->p) < 0)
			return;
		if (!is_chosen) /* else the last */
			profile_info(r->t->p)->default_type =
				profile_get_type(r->t->p, r->t->type).type;
		is_chosen |= is_default;
		r->type_count = profile_type_count(r->t->p);
	}
}

static void read_samples(struct reader *r)
{
	struct str line;

	while (stacktext_line(r->t, &line) && !str_starts_with(line, "Samples:"))
		;
	if (!stacktext_line(r->t, &line))
		return;
	read_types(r, line);
	while (r->type_count && stacktext_line(r->t, &line)) {
		if (str_starts_with(line, "Locations"))
			return;
		/* labels are words with brackets */
		if (!read_sample(r, line) && str_find(line, ":[") == line.len)
			stacktext_skip(r->t);
	}
}

/*
 * What stackcollapse-go.pl does.
 */

/* The first of two numbers before ": ", and the numbers behind it. Of one number, all but its last
 * digit. */
static bool parse_exact_sample(struct str line, int64_t *ret_value, struct str *ret_stack)
{
	struct str rest = str_skip_blanks(line), value;
	size_t digits = count_digits(rest), end = 0;

	value = str_part(rest, 0, digits);
	rest = str_skip_blanks(str_part(rest, digits, rest.len));
	digits = count_digits(rest);
	if (!digits && value.len)
		value.len--;
	rest = str_part(rest, digits, rest.len);
	if (!value.len || !str_starts_with(rest, ": "))
		return false;
	rest = str_part(rest, 2, rest.len);
	while (end < rest.len && (number_is_digit(rest.ptr[end]) || rest.ptr[end] == ' '))
		end++;
	*ret_stack = str_part(rest, 0, end);
	return end && stacktext_number(value, ret_value);
}

/* The word behind the address and "M=1", if one more blank is behind it. */
static bool parse_exact_location(struct str line, uint64_t *ret_id, struct str *ret_name)
{
	struct str rest = str_skip_blanks(line), behind;
	size_t digits = count_digits(rest), len = 0;

	if (!digits || !number_parse(rest.ptr, digits, ret_id))
		return false;
	rest = str_part(rest, digits, rest.len);
	if (!str_starts_with(rest, ": 0x"))
		return false;
	rest = str_part(rest, strlen(": 0x"), rest.len);
	while (len < rest.len && number_hex_digit(rest.ptr[len]) >= 0)
		len++;
	rest = str_part(rest, len, rest.len);
	if (!len || !str_starts_with(rest, " "))
		return false;
	rest = str_part(rest, 1, rest.len);
	behind = str_part(rest, str_find(rest, " "), rest.len);
	if (str_starts_with(rest, "M=") && behind.len &&
	    2 + count_digits(str_part(rest, 2, rest.len)) + behind.len == rest.len &&
	    rest.len > 2 + behind.len) {
		behind = str_part(behind, 1, behind.len);
		if (behind.len && *behind.ptr != ' ' && str_find(behind, " ") < behind.len)
			rest = behind;
	}
	*ret_name = str_part(rest, 0, str_find(rest, " "));
	return ret_name->len && ret_name->len < rest.len;
}

static void add_exact(struct reader *r, struct str stack, int64_t value)
{
	const struct function_line *lines = r->lines.data;

	while (str_ends_with(stack, " "))
		stack.len--;
	while (stack.len) {
		struct str word = str_part(stack, 0, str_find(stack, " "));
		uint64_t id;
		uint32_t i = MAP_NONE;

		if (number_parse(word.ptr, word.len, &id))
			i = map_get(&r->locations, id);
		stacktext_push(r->t, i == MAP_NONE ? word : lines[i].name);
		stack = str_part(stack, word.len + (word.len < stack.len), stack.len);
	}
	stacktext_add(r->t, true, value);
	stacktext_cut(r->t, 0);
}

/* Reads a part of the text, up to the line that has end in it. */
static void read_exact(struct reader *r, const char *start, const char *end,
		       void (*read)(struct reader *r, struct str line))
{
	bool is_there = false;
	struct str line;

	while (stacktext_line(r->t, &line)) {
		if (str_starts_with(line, "#"))
			continue;
		if (is_there && str_find(line, end) < line.len)
			return;
		if (is_there)
			read(r, line);
		is_there |= str_find(line, start) < line.len;
	}
}

static void read_exact_sample(struct reader *r, struct str line)
{
	struct str stack;
	int64_t value;

	if (parse_exact_sample(line, &value, &stack))
		add_exact(r, stack, value);
}

static void read_exact_location(struct reader *r, struct str line)
{
	struct function_line *function;
	struct str name;
	uint32_t *first;
	uint64_t id;

	if (!parse_exact_location(line, &id, &name))
		return;
	function = rows_add(&r->lines, sizeof *function);
	first = function ? map_at(&r->locations, id) : NULL;
	if (!first) {
		stacktext_fail(r->t);
		return;
	}
	function->name = name;
	*first = (uint32_t)r->lines.count - 1;
}

static void parse(struct stacktext *t)
{
	CLEANUP(reader_fini) struct reader r = { .t = t };
	struct cursor start = t->text;

	if (t->is_exact) {
		read_exact(&r, "Locations", "Mappings", read_exact_location);
		t->text = start;
		read_exact(&r, "Samples:", "Locations", read_exact_sample);
		return;
	}

	read_locations(&r); /* they stand behind the samples */
	t->text = start;
	t->line_number = 0;
	read_samples(&r);
}

static bool detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct str line;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		if (str_equals(line, "Samples:"))
			return cursor_line(&c, &line.ptr, &line.len) &&
			       str_find(line, "/") < line.len;
		if (!str_starts_with(line, "PeriodType: ") && !str_starts_with(line, "Period: ") &&
		    !str_starts_with(line, "Time: ") && !str_starts_with(line, "Duration: ") &&
		    !str_starts_with(line, "Comment: ") && !str_starts_with(line, "Doc: "))
			return false;
	}
	return false;
}

static const struct stacktext_kind kind = { .name = "pprof-raw", .parse = parse };

static const char *const suffixes[] = { NULL };

static int pprof_raw_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&kind, p, data, len, e);
}

static int pprof_raw_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&kind, data, len, out, e);
}

const struct format format_pprof_raw = {
	.name = "pprof-raw",
	.summary = "the text that go tool pprof -raw prints",
	.mark = "Samples: behind PeriodType:",
	.lost = "labels, mappings",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = detect,
	.read = pprof_raw_read,
	.collapse = pprof_raw_collapse,
};
