/* SPDX-License-Identifier: MIT */
#include "format/perfscript/collapse_line.h"

#include <string.h>

#include "base/number.h"

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(char c)
{
	return number_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t skip_spaces(struct str s, size_t at)
{
	while (at < s.len && is_space(s.ptr[at]))
		at++;
	return at;
}

static size_t skip_digits(struct str s, size_t at)
{
	while (at < s.len && number_is_digit(s.ptr[at]))
		at++;
	return at;
}

static struct str part(struct str s, size_t from, size_t to)
{
	return (struct str){ s.ptr + from, to - from };
}

static bool has(struct str s, const char *text)
{
	return s.len && memmem(s.ptr, s.len, text, strlen(text));
}

bool collapse_take_line(struct collapse_text *text, struct str *ret)
{
	const char *stop;

	if (text->at == text->end)
		return false;
	stop = memchr(text->at, '\n', (size_t)(text->end - text->at));
	if (!stop)
		stop = text->end;
	*ret = (struct str){ text->at, (size_t)(stop - text->at) };
	if (ret->len && ret->ptr[ret->len - 1] == '\r')
		ret->len--;
	text->at = stop + (stop < text->end);
	text->number++;
	return true;
}

/* "12", "12/13" or "12/" with a blank behind. */
static bool parse_ids(struct str line, size_t at, struct collapse_head *ret)
{
	size_t stop = skip_digits(line, at), second = stop, end;

	while (second < line.len && line.ptr[second] == '/')
		second++;
	end = skip_digits(line, second);
	if (stop == at || end == line.len || !is_space(line.ptr[end]))
		return false;
	ret->pid = part(line, at, stop);
	ret->tid = part(line, second, end);
	if (!ret->tid.len || str_equals(ret->tid, "0")) {
		ret->tid = ret->pid;
		ret->pid = (struct str){ "?", 1 };
	}
	return true;
}

static int64_t parse_period(struct str digits)
{
	int64_t v = 0;

	if (!digits.len || str_equals(digits, "0"))
		return 1;
	for (size_t i = 0; i < digits.len; i++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, digits.ptr[i] - '0', &v))
			return INT64_MAX;
	return v;
}

/* ": 1001001 cycles:" at the end of the line; the number may be missing. */
static void parse_event(struct str line, struct collapse_head *ret)
{
	size_t end = line.len, start, number_end, number, colon;

	while (end && is_space(line.ptr[end - 1]))
		end--;
	for (start = end; start && !is_space(line.ptr[start - 1]);)
		start--;
	if (end - start < 2 || line.ptr[end - 1] != ':')
		return;
	for (number_end = start; number_end && is_space(line.ptr[number_end - 1]);)
		number_end--;
	for (number = number_end; number && number_is_digit(line.ptr[number - 1]);)
		number--;
	for (colon = number; colon && is_space(line.ptr[colon - 1]);)
		colon--;
	if (!colon || line.ptr[colon - 1] != ':')
		return;
	ret->event = part(line, start, end - 1);
	ret->period = parse_period(part(line, number, number_end));
}

bool collapse_parse_head(struct str line, struct collapse_head *ret)
{
	*ret = (struct collapse_head){ .period = 1 };
	if (!line.len || is_space(*line.ptr))
		return false;
	for (size_t i = 2, next; i < line.len; i = next) {
		next = skip_spaces(line, i);
		if (next > i && parse_ids(line, next, ret)) {
			ret->comm = part(line, 0, i);
			parse_event(line, ret);
			return true;
		}
		next += next == i;
	}
	return false;
}

static struct str drop_offset(struct str s)
{
	size_t at = s.len;

	while (at &&
	       (number_is_digit(s.ptr[at - 1]) || (s.ptr[at - 1] >= 'a' && s.ptr[at - 1] <= 'f')))
		at--;
	if (at < s.len && at >= 3 && memcmp(s.ptr + at - 3, "+0x", 3) == 0)
		s.len = at - 3;
	return s;
}

/* The last " (" of the line with a ')' behind it: *ret_open and the last ')', *ret_close. */
static bool find_module(struct str line, size_t *ret_open, size_t *ret_close)
{
	size_t close = line.len, open;

	while (close && line.ptr[close - 1] != ')')
		close--;
	for (open = close; open > 1; open--)
		if (line.ptr[open - 2] == ' ' && line.ptr[open - 1] == '(' && open < close)
			break;
	if (open < 2)
		return false;
	*ret_open = open - 2;
	*ret_close = close - 1;
	return true;
}

bool collapse_parse_frame(struct str line, struct collapse_frame *ret)
{
	size_t word = skip_spaces(line, 0), word_end = word, symbol, open, close;

	while (word_end < line.len && is_word(line.ptr[word_end]))
		word_end++;
	if (word_end == word || !find_module(line, &open, &close))
		return false;
	symbol = skip_spaces(line, word_end);
	if (symbol >= open) { /* something must be left for the symbol */
		if (open <= word + 1)
			return false;
		symbol = open - 1;
		if (symbol < word_end)
			word_end = symbol;
	}
	ret->address = part(line, word, word_end);
	ret->symbol = drop_offset(part(line, symbol, open));
	ret->module = part(line, open + 2, close);
	return true;
}

/* The module's file name, for a function without a name. */
static void put_unknown(const struct collapse_frame *frame, bool has_addresses, struct buf *out)
{
	struct str name = frame->module;
	const char *slash = name.len ? memrchr(name.ptr, '/', name.len) : NULL;

	if (slash)
		name = part(name, (size_t)(slash - name.ptr) + 1, name.len);
	if (str_equals(frame->module, "[unknown]"))
		name = (struct str){ "unknown", strlen("unknown") };
	buf_put_byte(out, '[');
	buf_put(out, name.ptr, name.len);
	if (has_addresses) {
		buf_put_str(out, " <");
		buf_put(out, frame->address.ptr, frame->address.len);
		buf_put_byte(out, '>');
	}
	buf_put_byte(out, ']');
}

/* "net/http.(*Client).Do": a method of Go keeps its parentheses. */
static bool is_go_method(struct str name)
{
	const char *open = memmem(name.ptr, name.len, ".(", 2);

	return open && memmem(open + 2, name.len - (size_t)(open + 2 - name.ptr), ").", 2);
}

/* The length without the arguments. */
static size_t find_arguments(struct str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] == '(' &&
		    !str_starts_with(part(name, i, name.len), "(anonymous namespace)"))
			return i;
	return name.len;
}

static void put_tidied(struct str name, bool is_java, struct buf *out)
{
	if (!is_go_method(name))
		name.len = find_arguments(name);
	if (is_java && name.len && memchr(name.ptr, '/', name.len)) {
		while (name.len && (*name.ptr == '"' || *name.ptr == '\''))
			name = part(name, 1, name.len);
		if (name.len && *name.ptr == 'L')
			name = part(name, 1, name.len);
	}
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] != '"' && name.ptr[i] != '\'')
			buf_put_byte(out, (unsigned char)(name.ptr[i] == ';' ? ':' : name.ptr[i]));
}

/* "/tmp/perf-12.map" anywhere in the path */
static bool is_perf_map(struct str module)
{
	static const char start[] = "/tmp/perf-";

	for (size_t i = 0; i + sizeof start - 1 < module.len; i++) {
		size_t at = i + sizeof start - 1, end;

		if (memcmp(module.ptr + i, start, sizeof start - 1) != 0)
			continue;
		end = skip_digits(module, at);
		if (end > at && str_starts_with(part(module, end, module.len), ".map"))
			return true;
	}
	return false;
}

static void put_mark(const struct collapse_frame *frame, bool is_inlined, struct str shown,
		     const struct collapse_style *style, struct buf *out)
{
	struct str module = frame->module;

	if (is_inlined) {
		if (!has(shown, "_[i]"))
			buf_put_str(out, "_[i]");
	} else if (style->marks_kernel &&
		   (str_starts_with(module, "[") || str_ends_with(module, "vmlinux")) &&
		   !has(module, "unknown")) {
		buf_put_str(out, "_[k]");
	} else if (style->marks_jit && is_perf_map(module) && !has(shown, "_[j]")) {
		buf_put_str(out, "_[j]");
	}
}

/* ":main.c:12" of the line below a frame; what stands in brackets, as an offset in a library does,
 * is left out. */
static void put_source(struct collapse_text *sources, struct buf *out)
{
	size_t start = out->len;
	bool has_closed = true; /* may a ']' follow? */
	struct str line;

	if (!collapse_take_line(sources, &line))
		return;
	buf_put_byte(out, ':');
	for (size_t at = 0; at < line.len; at++) {
		const char *close = has_closed && line.ptr[at] == '['
					    ? memchr(line.ptr + at, ']', line.len - at)
					    : NULL;

		has_closed &= close || line.ptr[at] != '[';
		if (close)
			at = (size_t)(close - line.ptr);
		else if (out->len > start + 1 || !is_space(line.ptr[at]))
			buf_put_byte(out, (unsigned char)line.ptr[at]);
	}
	if (buf_error(out) < 0)
		return;
	while (out->len > start + 1 && is_space(out->data[out->len - 1]))
		out->len--;
	if (out->len == start + 1)
		out->len = start;
}

/* Appends one function; name is not the text shown when the frame has none. *is_nowhere becomes
 * true when not even a module is known: no source lines follow, of the frame's further functions
 * either. */
static void put_function(const struct collapse_frame *frame, struct str name, bool is_inlined,
			 const struct collapse_style *style, bool *is_nowhere, struct buf *out)
{
	CLEANUP(buf_fini) struct buf unknown = { 0 };
	bool is_unknown = str_equals(name, "[unknown]");
	size_t start;

	*is_nowhere |= is_unknown && str_equals(frame->module, "[unknown]");
	buf_put_byte(out, ';');
	start = out->len;
	if (is_unknown) {
		put_unknown(frame, style->has_addresses, &unknown);
		name = (struct str){ unknown.data, unknown.len };
		if (buf_error(&unknown) < 0) {
			out->bad = true;
			return;
		}
	}
	put_tidied(name, style->is_java, out);
	if (buf_error(out) == 0)
		put_mark(frame, is_inlined,
			 part((struct str){ out->data, out->len }, start, out->len), style, out);
	if (style->sources && !*is_nowhere)
		put_source(style->sources, out);
}

void collapse_put_frame(const struct collapse_frame *frame, const struct collapse_style *style,
			struct buf *out)
{
	struct str rest = frame->symbol;
	bool is_inlined = false, is_nowhere = false;

	while (str_ends_with(rest, "->")) /* empty functions at the end do not count */
		rest.len -= 2;
	while (rest.len) {
		const char *arrow = memmem(rest.ptr, rest.len, "->", 2);
		size_t len = arrow ? (size_t)(arrow - rest.ptr) : rest.len;

		put_function(frame, part(rest, 0, len), is_inlined, style, &is_nowhere, out);
		is_inlined = true;
		rest = part(rest, arrow ? len + 2 : len, rest.len);
	}
}
