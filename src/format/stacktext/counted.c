/* SPDX-License-Identifier: MIT */
#include "format/stacktext/counted.h"

#include <string.h>

#include "base/number.h"
#include "format/stacktext/stacktext.h"

#define DTRACE_HEADER_LINES 3 /* that stackcollapse.pl skips, whatever they are */

static void end_stack(struct stacktext *t, int64_t value)
{
	stacktext_add(t, true, value);
	stacktext_cut(t, 0);
	t->labels = 0;
}

/* Frames behind the last number: the text was cut. */
static void end_text(struct stacktext *t)
{
	if (stacktext_depth(t))
		stacktext_skip(t);
}

static struct str cut_at(struct str s, const char *text)
{
	s.len = str_find(s, text);
	return s;
}

/* Without what is behind the last '+', whatever it is. */
static struct str drop_last_plus(struct str s)
{
	const char *plus = s.len ? memrchr(s.ptr, '+', s.len) : NULL;

	return plus ? str_part(s, 0, (size_t)(plus - s.ptr)) : s;
}

/* Without "+0x1f" at the end. */
static struct str drop_offset(struct str s)
{
	struct str name = drop_last_plus(s);
	struct str offset = str_part(s, name.len, s.len);

	return str_starts_with(offset, "+0x") ? name : s;
}

/* As stackcollapse.pl does: without arguments of functions and templates. */
static struct str dtrace_exact_name(struct str line)
{
	struct str name = drop_last_plus(line);

	for (size_t i = 2; i < name.len; i++)
		if (name.ptr[i] == '(' || name.ptr[i] == '<')
			return str_part(name, 0, i);
	return name.len ? name : (struct str){ "-", 1 };
}

static bool is_dtrace_frame(struct str s)
{
	return str_find(s, "`") < s.len || str_starts_with(s, "0x");
}

/* "CPU     ID                    FUNCTION:NAME", "  0  64091                        :tick-60s" */
static bool is_dtrace_header(struct str line)
{
	struct str rest = str_trim(line), cpu = str_take_word(&rest), id = str_take_word(&rest);
	int64_t number;

	return str_equals(cpu, "CPU") || str_equals(cpu, "dtrace:") ||
	       (stacktext_number(cpu, &number) && stacktext_number(id, &number) &&
		str_find(rest, ":") < rest.len);
}

static void parse_dtrace(struct stacktext *t)
{
	struct str line;
	int64_t number;

	while (stacktext_line(t, &line)) {
		struct str frame = str_trim(line);

		if (t->is_exact && t->line_number <= DTRACE_HEADER_LINES)
			continue;
		if (stacktext_number(line, &number))
			end_stack(t, number);
		else if (!frame.len)
			continue;
		else if (t->is_exact)
			stacktext_push(t, dtrace_exact_name(str_skip_blanks(line)));
		else if (is_dtrace_frame(frame))
			stacktext_push(t, drop_offset(frame));
		else if (!stacktext_depth(t) && is_dtrace_header(line))
			continue;
		else if (!stacktext_depth(t) && !t->labels)
			t->labels = stacktext_thread(t, frame, "", 0);
		else
			stacktext_push(t, frame);
	}
	end_text(t);
}

/* Headers, perhaps a key, frames, and a number. */
static bool dtrace_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	size_t frames = 0, keys = 0;
	struct str line;
	int64_t number;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		struct str frame = str_trim(line);

		if (stacktext_number(line, &number))
			return frames > 0;
		if (!frame.len || (!frames && is_dtrace_header(line)))
			continue;
		if (str_find(frame, "`") < frame.len)
			frames++;
		else if (!str_starts_with(frame, "0x") && (frames || keys++))
			return false;
	}
	return false;
}

/* " 0xffffffff8103ce3b : native_safe_halt+0xb/0x10 [kernel]" */
static struct str systemtap_name(struct str line, bool is_exact)
{
	struct str name = is_exact ? drop_last_plus(line) : line;

	for (size_t at = str_find(name, " : "); at < name.len; at = str_find(name, " : "))
		name = str_part(name, at + 3, name.len);
	if (is_exact)
		return name.len ? name : (struct str){ "-", 1 };
	return str_trim(cut_at(cut_at(name, "+0x"), " ["));
}

static void parse_systemtap(struct stacktext *t)
{
	struct str line;
	int64_t number;

	while (stacktext_line(t, &line)) {
		if (stacktext_number(line, &number))
			end_stack(t, number);
		else if (str_trim(line).len)
			stacktext_push(t, systemtap_name(str_skip_blanks(line), t->is_exact));
	}
	end_text(t);
}

static bool systemtap_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	size_t frames = 0;
	struct str line;
	int64_t number;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		struct str frame = str_skip_blanks(line);
		uint64_t address;
		size_t digits;

		if (!frame.len)
			continue;
		if (stacktext_number(line, &number))
			return frames > 0;
		if (!str_starts_with(frame, "0x"))
			return false;
		digits = number_parse_hex(frame.ptr + 2, frame.len - 2, &address);
		if (!digits || !str_starts_with(str_part(frame, digits + 2, frame.len), " : "))
			return false;
		frames++;
	}
	return false;
}

/* "-                dd (25036)", or "tar [15069]": the thread of the frames before. */
static bool parse_bcc_thread(struct str line, struct str *ret_comm, uint64_t *ret_pid)
{
	struct str s = str_trim(line);
	bool has_dash = str_starts_with(s, "- ");
	const char *open;
	size_t at, digits;

	if (s.len < 4 || s.ptr[s.len - 1] != (has_dash ? ')' : ']'))
		return false;
	open = memrchr(s.ptr, has_dash ? '(' : '[', s.len);
	at = open ? (size_t)(open - s.ptr) : 0;
	if (at < 2 || s.ptr[at - 1] != ' ')
		return false;
	digits = number_parse(s.ptr + at + 1, s.len - at - 2, ret_pid);
	if (!digits || at + digits + 2 != s.len)
		return false;
	*ret_comm = str_trim(str_part(s, has_dash, at));
	return true;
}

/* The tool's first line names what it counts. */
static bool read_bcc_header(struct stacktext *t, struct str line)
{
	if (str_starts_with(line, "Tracing off-CPU time (us)") && t)
		stacktext_set_type(t, "offcpu", "microseconds");
	return str_starts_with(line, "Sampling at ") || str_starts_with(line, "Tracing ") ||
	       str_starts_with(line, "^C") || str_starts_with(line, "Detaching...");
}

static void parse_bcc(struct stacktext *t)
{
	struct str line, comm;
	int64_t number;
	uint64_t pid;

	while (stacktext_line(t, &line)) {
		struct str frame = str_trim(line);

		if (!frame.len || str_equals(frame, "--") || read_bcc_header(t, line))
			continue;
		if (stacktext_number(line, &number))
			end_stack(t, number);
		else if (parse_bcc_thread(line, &comm, &pid))
			t->labels = stacktext_thread(t, comm, "pid", pid);
		else if (str_is_blank(*line.ptr))
			stacktext_push(t, frame);
		else
			stacktext_skip(t);
	}
	end_text(t);
}

/* Frames, and a number; there is a header, or a thread's name before the number. */
static bool bcc_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	bool is_sure = false;
	struct str line, comm;
	uint64_t pid;
	int64_t number;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		if (!str_trim(line).len)
			continue;
		if (read_bcc_header(NULL, line))
			is_sure |= *line.ptr != '^' && *line.ptr != 'D';
		else if (!str_is_blank(*line.ptr))
			return false;
		else if (stacktext_number(line, &number))
			return is_sure;
		else if (str_starts_with(str_trim(line), "- "))
			is_sure |= parse_bcc_thread(line, &comm, &pid);
	}
	return false;
}

static const struct stacktext_kind dtrace = { .name = "dtrace", .parse = parse_dtrace };
static const struct stacktext_kind systemtap = { .name = "systemtap", .parse = parse_systemtap };
static const struct stacktext_kind bcc = { .name = "bcc", .parse = parse_bcc };

static const char *const no_suffixes[] = { NULL };

static int dtrace_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&dtrace, p, data, len, e);
}

static int dtrace_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&dtrace, data, len, out, e);
}

const struct format format_dtrace = {
	.name = "dtrace",
	.summary = "stacks and counts of an aggregation that DTrace prints",
	.mark = "frames with `, then a count",
	.lost = "-",
	.suffixes = no_suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = dtrace_detect,
	.read = dtrace_read,
	.collapse = dtrace_collapse,
};

static int systemtap_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&systemtap, p, data, len, e);
}

static int systemtap_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&systemtap, data, len, out, e);
}

const struct format format_systemtap = {
	.name = "systemtap",
	.summary = "stacks and counts that SystemTap prints",
	.mark = "0xADDRESS : NAME, then a count",
	.lost = "-",
	.suffixes = no_suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = systemtap_detect,
	.read = systemtap_read,
	.collapse = systemtap_collapse,
};

static int bcc_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&bcc, p, data, len, e);
}

const struct format format_bcc = {
	.name = "bcc",
	.summary = "stacks of bcc's profile, offcputime, stackcount",
	.mark = "its first line, or - NAME (PID)",
	.lost = "-",
	.suffixes = no_suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = bcc_detect,
	.read = bcc_read,
};
