/* SPDX-License-Identifier: MIT */
#include "format/stacktext/reports.h"

#include <string.h>

#include "base/number.h"
#include "format/stacktext/stacktext.h"

static size_t count_digits(struct str s)
{
	size_t len = 0;

	while (len < s.len && number_is_digit(s.ptr[len]))
		len++;
	return len;
}

/*
 * lightweight-java-profiler
 */

/* Without what is between the first '(' and the last ')'. */
static struct str drop_place(struct str line, struct buf *text)
{
	size_t open = str_find(line, "("), close = line.len;

	while (close > open && line.ptr[close - 1] != ')')
		close--;
	if (close <= open)
		return line;
	buf_clear(text);
	buf_put(text, line.ptr, open);
	buf_put(text, line.ptr + close, line.len - close);
	return (struct str){ text->data, text->len };
}

/* At most three words of a line; how many there are, at most 4. */
static size_t split(struct str line, struct str words[3])
{
	size_t count = 0;
	struct str word;

	while (count < 4 && (word = str_take_word(&line)).len) {
		if (count < 3)
			words[count] = word;
		count++;
	}
	return count;
}

static void end_ljp(struct stacktext *t, int64_t samples)
{
	if (samples)
		stacktext_add(t, true, samples);
	stacktext_cut(t, 0);
}

static void parse_ljp(struct stacktext *t)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct str line, words[3];
	bool is_over = !t->is_exact; /* ljp prints a last line */
	int64_t samples = 0;

	while (stacktext_line(t, &line)) {
		size_t count = split(drop_place(line, &text), words);

		if (buf_error(&text) < 0) {
			stacktext_fail(t);
			return;
		}
		if (count && str_equals(words[0], "Total")) {
			is_over = true;
			break;
		}
		if (count == 1) {
			stacktext_push(t, words[0]);
		} else if (count == 3) {
			end_ljp(t, samples);
			if (!stacktext_number(words[0], &samples))
				samples = 0;
			stacktext_push(t, words[2]);
		} else if (count) {
			stacktext_skip(t);
		}
	}
	if (is_over)
		end_ljp(t, samples);
}

/* Two numbers and a method with its place; then a method, another stack, or the end. */
static bool ljp_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct str line, words[3];
	int64_t number;

	if (!cursor_line(&c, &line.ptr, &line.len) || split(line, words) != 3 ||
	    !stacktext_number(words[0], &number) || !stacktext_number(words[1], &number) ||
	    !str_ends_with(words[2], ")"))
		return false;
	if (!cursor_line(&c, &line.ptr, &line.len))
		return false;
	return split(line, words) == (number > 1 ? 1 : 3) ? str_ends_with(line, ")")
							  : str_starts_with(line, "Total ");
}

/*
 * wallClockProfiler
 */

/* Takes text off the start of *s. */
static bool take(struct str *s, const char *text)
{
	if (!str_starts_with(*s, text))
		return false;
	*s = str_part(*s, strlen(text), s->len);
	return true;
}

static struct str take_digits(struct str *s)
{
	struct str digits = str_part(*s, 0, count_digits(*s));

	*s = str_part(*s, digits.len, s->len);
	return digits;
}

/* "99.791% ===== (17194 samples)" */
static bool parse_samples(struct str line, int64_t *ret)
{
	struct str digits;

	if (!take_digits(&line).len || !take(&line, ".") || !take_digits(&line).len ||
	    !take(&line, "% ="))
		return false;
	while (take(&line, "="))
		;
	if (!take(&line, " ("))
		return false;
	digits = take_digits(&line);
	return digits.len && take(&line, " samples)") && stacktext_number(digits, ret);
}

/* "1: poll   (at /srv/loop.nim:343)": up to the last blank before the place. */
static bool parse_wcp_frame(struct str line, struct str *ret_name, struct str *ret_place)
{
	static const char at[] = " (at ";
	size_t digits = count_digits(line), place = line.len;
	struct str rest;

	if (!digits || !str_starts_with(str_part(line, digits, line.len), ": ") ||
	    !str_ends_with(line, ")"))
		return false;
	rest = str_part(line, digits + 2, line.len);
	for (place = rest.len; place > 0; place--)
		if (str_starts_with(str_part(rest, place - 1, rest.len), at))
			break;
	if (!place)
		return false;
	*ret_name = str_part(rest, 0, place - 1);
	*ret_place = str_part(rest, place - 1 + strlen(at), rest.len - 1);
	return true;
}

static void push_place(struct stacktext *t, struct str name, struct str place)
{
	const char *colon = place.len ? memrchr(place.ptr, ':', place.len) : NULL;
	uint64_t line = 0;

	if (colon) {
		size_t start = (size_t)(colon - place.ptr);

		number_parse(colon + 1, place.len - start - 1, &line);
		place.len = start;
	}
	stacktext_push_at(t, str_trim(name), place, line <= INT32_MAX ? (int64_t)line : 0);
}

static void parse_wcp(struct stacktext *t)
{
	struct str line, name, place;
	bool is_there = false;
	int64_t samples = 0;

	while (stacktext_line(t, &line)) {
		line = str_trim(line);
		if (str_starts_with(line, "Full stacks")) {
			is_there = true;
			continue;
		}
		if (!is_there || parse_samples(line, &samples))
			continue;
		if (parse_wcp_frame(line, &name, &place)) {
			if (t->is_exact)
				stacktext_push(t, name);
			else
				push_place(t, name, place);
		} else if (!line.len && stacktext_depth(t)) {
			stacktext_add(t, true, samples);
			stacktext_cut(t, 0);
		}
	}
	if (!t->is_exact && stacktext_depth(t))
		stacktext_add(t, true, samples);
}

static bool wcp_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	bool is_there = false;
	struct str line;
	int64_t samples;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		if (is_there && str_trim(line).len)
			return parse_samples(str_trim(line), &samples);
		is_there |= str_starts_with(line, "Full stacks");
	}
	return false;
}

/*
 * procstack
 */

/* "4711: /usr/bin/demo -x" */
static bool parse_process(struct str line, struct str *ret)
{
	size_t digits = count_digits(line);

	if (!digits || !str_starts_with(str_part(line, digits, line.len), ": "))
		return false;
	line = str_part(line, digits + 2, line.len);
	*ret = str_part(line, 0, str_find(line, " "));
	return true;
}

/* "0x09000000 poll(0x1, 0x2) + 0x40": two more words are behind the function. */
static bool parse_procstack_frame(struct str line, struct str *ret)
{
	struct str rest = line, address;
	size_t len = 2, blank;

	if (!str_starts_with(line, "0x"))
		return false;
	while (len < line.len &&
	       (number_is_digit(line.ptr[len]) || (line.ptr[len] >= 'a' && line.ptr[len] <= 'f')))
		len++;
	address = str_part(line, 0, len);
	rest = str_part(line, len, line.len);
	while (rest.len && *rest.ptr == ' ')
		rest = str_part(rest, 1, rest.len);
	blank = str_find(rest, " ");
	if (blank == rest.len ||
	    str_find(str_part(rest, blank + 1, rest.len), " ") + blank + 1 == rest.len)
		return false;
	*ret = str_part(rest, 0, blank);
	ret->len = str_find(*ret, "(");
	if (str_starts_with(*ret, "[") && str_ends_with(*ret, "]"))
		*ret = address;
	return true;
}

static void end_procstack(struct stacktext *t, struct str process)
{
	if (!stacktext_depth(t))
		return;
	if (t->is_exact)
		stacktext_push(t, process);
	stacktext_add(t, true, 1);
	stacktext_cut(t, 0);
}

static void parse_procstack(struct stacktext *t)
{
	struct str line, name, process = { "", 0 };

	while (stacktext_line(t, &line)) {
		struct str next;

		if (parse_process(line, &next)) {
			end_procstack(t, process);
			process = next;
			t->labels = stacktext_thread(t, process, "", 0);
		} else if (str_starts_with(line, "---------- tid# ")) {
			end_procstack(t, process);
		} else if (parse_procstack_frame(line, &name)) {
			stacktext_push(t, name);
		}
	}
	end_procstack(t, process);
}

static bool procstack_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct str line, name;

	if (!cursor_line(&c, &line.ptr, &line.len) || !parse_process(line, &name))
		return false;
	while (cursor_line(&c, &line.ptr, &line.len))
		if (line.len)
			return str_starts_with(line, "---------- tid# ") ||
			       parse_procstack_frame(line, &name);
	return false;
}

static const struct stacktext_kind ljp = {
	.name = "ljp",
	.parse = parse_ljp,
	.keeps_order = true,
};
static const struct stacktext_kind wcp = { .name = "wcp", .parse = parse_wcp };
static const struct stacktext_kind procstack = { .name = "procstack", .parse = parse_procstack };

static const char *const suffixes[] = { NULL };

static int ljp_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&ljp, p, data, len, e);
}

static int ljp_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&ljp, data, len, out, e);
}

const struct format format_ljp = {
	.name = "ljp",
	.summary = "stacks of lightweight-java-profiler",
	.mark = "two numbers and a frame in the first line",
	.lost = "-",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = ljp_detect,
	.read = ljp_read,
	.collapse = ljp_collapse,
};

static int wcp_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&wcp, p, data, len, e);
}

static int wcp_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&wcp, data, len, out, e);
}

const struct format format_wcp = {
	.name = "wcp",
	.summary = "full stacks of wallClockProfiler",
	.mark = "the line Full stacks",
	.lost = "-",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = wcp_detect,
	.read = wcp_read,
	.collapse = wcp_collapse,
};

static int procstack_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&procstack, p, data, len, e);
}

static int procstack_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&procstack, data, len, out, e);
}

const struct format format_procstack = {
	.name = "procstack",
	.summary = "stacks of procstack of AIX",
	.mark = "PID: and addresses of procstack",
	.lost = "-",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = procstack_detect,
	.read = procstack_read,
	.collapse = procstack_collapse,
};
