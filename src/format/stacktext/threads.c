/* SPDX-License-Identifier: MIT */
#include "format/stacktext/threads.h"

#include <string.h>

#include "base/number.h"
#include "format/stacktext/stacktext.h"

/* The stack at hand counts one, and is over. */
static void end_stack(struct stacktext *t)
{
	if (stacktext_depth(t))
		stacktext_add(t, true, 1);
	stacktext_cut(t, 0);
}

/* Digits at the start of s; their length. */
static size_t count_digits(struct str s)
{
	size_t len = 0;

	while (len < s.len && number_is_digit(s.ptr[len]))
		len++;
	return len;
}

static size_t count_blanks(struct str s)
{
	size_t count = 0;

	for (size_t i = 0; i < s.len; i++)
		count += s.ptr[i] == ' ';
	return count;
}

/*
 * gdb
 */

/* What stackcollapse-gdb.pl takes for the function in "#1  0x00007f31 in read () from lib": words
 * behind the number, the fourth one after blanks. false: no frame. */
static bool gdb_exact_name(struct str line, struct str *ret)
{
	struct str rest, first;
	size_t skip = 0;

	if (!str_starts_with(line, "#"))
		return false;
	rest = str_part(line, 1, line.len);
	rest = str_part(rest, count_digits(rest), rest.len);
	while (skip < rest.len && rest.ptr[skip] == ' ')
		skip++;
	while (skip && count_blanks(str_part(rest, skip, rest.len)) < 3)
		skip--; /* fewer blanks are skipped then */
	rest = str_part(rest, skip, rest.len);
	if (count_blanks(rest) < 3)
		return false;
	first = str_part(rest, 0, str_find(rest, " "));
	*ret = first;
	if (str_find(first, "0x") == first.len)
		return true;
	rest = str_part(rest, first.len + 1, rest.len);
	rest = str_part(rest, str_find(rest, " ") + 1, rest.len);
	*ret = str_part(rest, 0, str_find(rest, " "));
	return true;
}

static void parse_gdb_exact(struct stacktext *t)
{
	struct str line, name;

	while (stacktext_line(t, &line)) {
		if (str_starts_with(line, "Thread"))
			stacktext_cut(t, 0);
		else if (!gdb_exact_name(line, &name))
			end_stack(t);
		else if (name.len || stacktext_depth(t))
			stacktext_push(t, name);
	}
	end_stack(t);
}

/* The function: up to the blank before its arguments, which no '<' is open before. */
static struct str cut_arguments(struct str s)
{
	size_t depth = 0;

	for (size_t i = 1; i < s.len; i++) {
		if (s.ptr[i] == '<')
			depth++;
		else if (s.ptr[i] == '>' && depth && s.ptr[i - 1] != '-')
			depth--;
		else if (s.ptr[i] == '(' && s.ptr[i - 1] == ' ' && !depth)
			return str_part(s, 0, i - 1);
	}
	return s;
}

/* "#1  0x00007f31 in read () from lib", "#0  main () at demo.c:12"; false: no frame. */
static bool gdb_name(struct str line, struct str *ret)
{
	struct str rest, word, behind;
	size_t digits;

	if (!str_starts_with(line, "#"))
		return false;
	rest = str_part(line, 1, line.len);
	digits = count_digits(rest);
	if (!digits || digits == rest.len || rest.ptr[digits] != ' ')
		return false;
	rest = str_trim(str_part(rest, digits, rest.len));
	behind = rest;
	word = str_take_word(&behind);
	if (str_starts_with(word, "0x") && str_starts_with(behind, " in "))
		rest = str_part(behind, strlen(" in "), behind.len);
	*ret = str_trim(cut_arguments(rest));
	return true;
}

/* Thread 2 (Thread 0x7f31 (LWP 4712) "worker"): */
static void begin_gdb_thread(struct stacktext *t, struct str line)
{
	size_t lwp = str_find(line, "(LWP "), quote = str_find(line, "\"");
	struct str comm = { "", 0 };
	uint64_t tid = 0;

	if (lwp < line.len)
		number_parse(line.ptr + lwp + 5, line.len - lwp - 5, &tid);
	if (quote < line.len) {
		comm = str_part(line, quote + 1, line.len);
		comm.len = str_find(comm, "\"");
	}
	t->labels = stacktext_thread(t, comm, "tid", tid);
}

static void parse_gdb(struct stacktext *t)
{
	struct str line, name;

	if (t->is_exact) {
		parse_gdb_exact(t);
		return;
	}
	while (stacktext_line(t, &line)) {
		if (gdb_name(line, &name)) {
			stacktext_push(t, name);
			continue;
		}
		end_stack(t);
		if (str_starts_with(line, "Thread "))
			begin_gdb_thread(t, line);
	}
	end_stack(t);
}

/* "#0  0x00007f31 in read () from lib": with arguments, and a number of its own. */
static bool is_gdb_frame(struct str line, const char *number)
{
	struct str name;

	return str_starts_with(line, number) && gdb_name(line, &name) &&
	       name.len + strlen("#0  ") < line.len && str_find(line, " (") < line.len;
}

/* Is there a thread's line with a frame behind it, or do two frames follow one another? */
static bool gdb_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	bool is_thread = false, is_first = false;
	struct str line;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		if ((is_thread && is_gdb_frame(line, "#0 ")) ||
		    (is_first && is_gdb_frame(line, "#1 ")))
			return true;
		is_thread = str_starts_with(line, "Thread ") && str_ends_with(line, "):") &&
			    str_find(line, " (") < line.len;
		is_first = is_gdb_frame(line, "#0 ");
	}
	return false;
}

/*
 * eu-stack
 */

/* "#0  0x00007f31 read", "#0  0x00007f31": false: no frame. */
static bool elfutils_name(struct str line, struct str *ret)
{
	size_t digits;

	if (!str_starts_with(line, "#"))
		return false;
	line = str_part(line, 1, line.len);
	line = str_part(line, count_digits(line), line.len);
	while (line.len && *line.ptr == ' ')
		line = str_part(line, 1, line.len);
	if (!str_starts_with(line, "0x"))
		return false;
	for (digits = 2; digits < line.len; digits++) {
		char c = line.ptr[digits];

		if (!number_is_digit(c) && !(c >= 'a' && c <= 'f'))
			break;
	}
	line = str_part(line, digits, line.len);
	*ret = (struct str){ "[unknown]", strlen("[unknown]") };
	if (line.len && *line.ptr == ' ')
		*ret = str_part(line, 1, line.len);
	return true;
}

static uint64_t parse_id(struct str line)
{
	uint64_t id = 0;

	number_parse(line.ptr + 4, line.len - 4, &id);
	return id;
}

static void parse_elfutils(struct stacktext *t)
{
	struct str line, name;

	while (stacktext_line(t, &line)) {
		bool is_tid = str_starts_with(line, "TID ");

		if (is_tid || str_starts_with(line, "PID ")) {
			end_stack(t);
			t->labels = stacktext_thread(t, (struct str){ "", 0 },
						     is_tid ? "tid" : "pid", parse_id(line));
		} else if (elfutils_name(line, &name)) {
			stacktext_push(t, t->is_exact ? name : str_trim(name));
		}
	}
	end_stack(t);
}

static bool elfutils_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct str line, name;
	bool is_thread = false;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		if (is_thread && elfutils_name(line, &name))
			return true;
		if (!line.len)
			continue;
		is_thread = str_starts_with(line, "TID ") && str_ends_with(line, ":");
		if (!is_thread && !str_starts_with(line, "PID "))
			return false;
	}
	return false;
}

/*
 * faulthandler
 */

struct python_frame {
	struct str file, line, function;
};

/* '  File "/srv/app.py", line 12 in handle' */
static bool parse_python(struct str line, struct python_frame *ret)
{
	static const char start[] = "  File \"", middle[] = "\", line ";
	size_t digits;

	if (!str_starts_with(line, start))
		return false;
	line = str_part(line, sizeof start - 1, line.len);
	ret->file = str_part(line, 0, str_find(line, "\""));
	line = str_part(line, ret->file.len, line.len);
	if (!str_starts_with(line, middle))
		return false;
	line = str_part(line, sizeof middle - 1, line.len);
	digits = count_digits(line);
	ret->line = str_part(line, 0, digits);
	line = str_part(line, digits, line.len);
	if (!str_starts_with(line, " in "))
		return false;
	ret->function = str_part(line, strlen(" in "), line.len);
	return true;
}

static void push_python(struct stacktext *t, const struct python_frame *frame)
{
	struct buf name = { 0 };
	uint64_t number = 0;

	if (!t->is_exact) {
		number_parse(frame->line.ptr, frame->line.len, &number);
		stacktext_push_at(t, frame->function, frame->file,
				  number <= INT32_MAX ? (int64_t)number : 0);
		return;
	}
	buf_put(&name, frame->file.ptr, frame->file.len);
	buf_put_byte(&name, ':');
	buf_put(&name, frame->line.ptr, frame->line.len);
	buf_put_byte(&name, ':');
	buf_put(&name, frame->function.ptr, frame->function.len);
	if (buf_error(&name) < 0)
		stacktext_fail(t);
	else
		stacktext_push(t, (struct str){ name.data, name.len });
	buf_fini(&name);
}

/* "Thread 0x00007f31 (most recent call first):", "Current thread 0x00007f31 [name] (..." */
static bool is_python_thread(struct str line)
{
	return (str_starts_with(line, "Thread 0x") || str_starts_with(line, "Current thread 0x")) &&
	       str_ends_with(line, "(most recent call first):");
}

static void parse_faulthandler(struct stacktext *t)
{
	struct python_frame frame;
	struct str line;

	while (stacktext_line(t, &line)) {
		if (t->is_exact && str_starts_with(line, "Thread"))
			stacktext_cut(t, 0);
		else if (parse_python(line, &frame))
			push_python(t, &frame);
		else
			end_stack(t);
	}
	end_stack(t);
}

static bool faulthandler_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct python_frame frame;
	struct str line;

	while (cursor_line(&c, &line.ptr, &line.len))
		if (is_python_thread(line))
			return cursor_line(&c, &line.ptr, &line.len) && parse_python(line, &frame);
	return false;
}

static const struct stacktext_kind gdb = { .name = "gdb", .parse = parse_gdb };
static const struct stacktext_kind elfutils = { .name = "elfutils", .parse = parse_elfutils };
static const struct stacktext_kind faulthandler = { .name = "faulthandler",
						    .parse = parse_faulthandler };

static const char *const suffixes[] = { NULL };

static int gdb_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&gdb, p, data, len, e);
}

static int gdb_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&gdb, data, len, out, e);
}

const struct format format_gdb = {
	.name = "gdb",
	.summary = "backtraces of gdb, thread apply all bt",
	.mark = "Thread N and #0",
	.lost = "arguments, variables",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = gdb_detect,
	.read = gdb_read,
	.collapse = gdb_collapse,
};

static int elfutils_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&elfutils, p, data, len, e);
}

static int elfutils_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&elfutils, data, len, out, e);
}

const struct format format_elfutils = {
	.name = "elfutils",
	.summary = "backtraces of eu-stack",
	.mark = "TID N: and #0",
	.lost = "-",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = elfutils_detect,
	.read = elfutils_read,
	.collapse = elfutils_collapse,
};

static int faulthandler_read(struct profile *p, const unsigned char *data, size_t len,
			     struct err *e)
{
	return stacktext_read(&faulthandler, p, data, len, e);
}

static int faulthandler_collapse(const unsigned char *data, size_t len, struct buf *out,
				 struct err *e)
{
	return stacktext_collapse(&faulthandler, data, len, out, e);
}

const struct format format_faulthandler = {
	.name = "faulthandler",
	.summary = "tracebacks of Python's faulthandler",
	.mark = "Thread 0x, or Current thread 0x",
	.lost = "-",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = faulthandler_detect,
	.read = faulthandler_read,
	.collapse = faulthandler_collapse,
};
