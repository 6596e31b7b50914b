/* SPDX-License-Identifier: MIT */
#include "format/perfscript/line.h"

#include <string.h>

#define NS_PER_S INT64_C(1000000000)
#define MAX_ADDRESS_DIGITS 16
#define MIN_FLAT_DIGITS 4   /* of an address behind an event */
#define MIN_TRACED_DIGITS 8 /* of an address behind a tracepoint's own text */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool script_equals(struct script_text t, const char *word)
{
	return t.len == strlen(word) && memcmp(t.ptr, word, t.len) == 0;
}

static bool ends_with(struct script_text t, const char *end)
{
	size_t len = strlen(end);

	return t.len >= len && memcmp(t.ptr + t.len - len, end, len) == 0;
}

struct script_text script_trim(struct script_text t)
{
	while (t.len && is_blank(t.ptr[t.len - 1]))
		t.len--;
	while (t.len && is_blank(*t.ptr)) {
		t.ptr++;
		t.len--;
	}
	return t;
}

/* Takes the first word off *rest. Empty: none is left. */
static struct script_text take_word(struct script_text *rest)
{
	struct script_text word;

	*rest = script_trim(*rest);
	word = *rest;
	for (word.len = 0; word.len < rest->len && !is_blank(rest->ptr[word.len]);)
		word.len++;
	rest->ptr += word.len;
	rest->len -= word.len;
	return word;
}

/* Takes the last word off *rest, and the blanks before it. */
static struct script_text take_last_word(struct script_text *rest)
{
	struct script_text word;
	size_t start;

	*rest = script_trim(*rest);
	start = rest->len;
	while (start && !is_blank(rest->ptr[start - 1]))
		start--;
	word = (struct script_text){ rest->ptr + start, rest->len - start };
	rest->len = start;
	*rest = script_trim(*rest);
	return word;
}

static size_t count_hex(struct script_text t)
{
	size_t n = 0;

	while (n < t.len && hex_value(t.ptr[n]) >= 0)
		n++;
	return n;
}

static bool is_number(struct script_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!is_digit(t.ptr[i]))
			return false;
	return t.len > 0;
}

/* All of t, digits with an optional '-'. SCRIPT_NONE: it is something else, or too large. */
static int64_t parse_int(struct script_text t)
{
	bool is_negative = t.len && *t.ptr == '-';
	int64_t v = 0;

	if (is_negative) {
		t.ptr++;
		t.len--;
	}
	if (!is_number(t))
		return SCRIPT_NONE;
	for (size_t i = 0; i < t.len; i++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, t.ptr[i] - '0', &v))
			return SCRIPT_NONE;
	return is_negative ? -v : v;
}

static uint64_t parse_hex(struct script_text digits)
{
	uint64_t v = 0;

	for (size_t i = 0; i < digits.len; i++)
		v = v << 4 | (uint64_t)hex_value(digits.ptr[i]);
	return v;
}

struct script_text script_address(const char *line, size_t len)
{
	struct script_text t = { line, len };

	while (t.len && is_blank(*t.ptr)) {
		t.ptr++;
		t.len--;
	}
	len = t.len;
	t.len = count_hex(t);
	if (t.len > MAX_ADDRESS_DIGITS || (t.len < len && !is_blank(t.ptr[t.len])))
		t.len = 0;
	return t;
}

bool script_is_frame(const char *line, size_t len)
{
	return len && is_blank(*line) && script_address(line, len).len;
}

bool script_is_source(const char *line, size_t len)
{
	return len > 2 && line[0] == ' ' && line[1] == ' ' && !is_blank(line[2]) &&
	       !script_address(line, len).len;
}

bool script_is_inlined(const char *line, size_t len)
{
	return ends_with((struct script_text){ line, len }, " (inlined)");
}

/* Where the '(' is that the ')' at the end of t closes; t.len: nowhere. */
static size_t find_open(struct script_text t)
{
	size_t depth = 0;

	for (size_t i = t.len; i-- > 0;) {
		depth += t.ptr[i] == ')';
		if (t.ptr[i] == '(' && --depth == 0)
			return i;
	}
	/* a path with a ')' of its own */
	for (size_t i = t.len; i-- > 1;)
		if (t.ptr[i - 1] == '(' && (t.ptr[i] == '/' || t.ptr[i] == '['))
			return i - 1;
	return t.len;
}

/* "+0x1a" at the end of a symbol, or of a dso with -F +dsoff. */
static struct script_text drop_offset(struct script_text t)
{
	size_t i = t.len;

	while (i && hex_value(t.ptr[i - 1]) >= 0)
		i--;
	if (i < t.len && i >= 3 && memcmp(t.ptr + i - 3, "+0x", 3) == 0)
		t.len = i - 3;
	return t;
}

static struct script_text unless_unknown(struct script_text t)
{
	if (script_equals(t, "[unknown]"))
		t.len = 0;
	return t;
}

/* Takes " (dso)" off the end of *symbol. */
static struct script_text take_dso(struct script_text *symbol)
{
	struct script_text dso = { 0 };
	size_t open;

	if (!symbol->len || symbol->ptr[symbol->len - 1] != ')')
		return dso;
	open = find_open(*symbol);
	if (open == symbol->len || (open && !is_blank(symbol->ptr[open - 1])))
		return dso;
	dso = (struct script_text){ symbol->ptr + open + 1, symbol->len - open - 2 };
	symbol->len = open;
	*symbol = script_trim(*symbol);
	dso = drop_offset(dso);
	if (ends_with(dso, " (deleted)"))
		dso.len -= strlen(" (deleted)");
	return dso;
}

bool script_parse_frame(const char *line, size_t len, struct script_frame *ret)
{
	struct script_text digits = script_address(line, len);
	struct script_text rest;

	if (!digits.len)
		return false;
	rest.ptr = digits.ptr + digits.len;
	rest.len = (size_t)(line + len - rest.ptr);
	rest = script_trim(rest);
	*ret = (struct script_frame){ .address = parse_hex(digits) };
	ret->dso = take_dso(&rest);
	if (script_equals(ret->dso, "inlined")) {
		ret->is_inlined = true;
		ret->dso.len = 0;
	}
	ret->dso = unless_unknown(ret->dso);
	ret->symbol = unless_unknown(drop_offset(rest));
	return true;
}

void script_parse_source(const char *line, size_t len, struct script_text *ret_file,
			 int64_t *ret_line)
{
	struct script_text t = script_trim((struct script_text){ line, len });
	struct script_text number;
	size_t colon;

	if (ends_with(t, " (inlined)"))
		t.len -= strlen(" (inlined)");
	colon = t.len;
	while (colon && t.ptr[colon - 1] != ':')
		colon--;
	number = (struct script_text){ t.ptr + colon, t.len - colon };
	*ret_line = parse_int(number);
	*ret_file = (struct script_text){ t.ptr, colon ? colon - 1 : 0 };
	if (*ret_line < 0 || !ret_file->len || script_equals(*ret_file, "??")) {
		ret_file->len = 0;
		*ret_line = 0;
	}
}

/* "1950.096826" before the ':' at line[colon]: where it starts; colon: there is no time. */
static size_t find_time_start(const char *line, size_t colon)
{
	size_t dot = colon, start;

	while (dot && is_digit(line[dot - 1]))
		dot--;
	if (!dot || line[dot - 1] != '.' || (colon - dot != 6 && colon - dot != 9))
		return colon;
	start = --dot;
	while (start && is_digit(line[start - 1]))
		start--;
	if (start == dot || (start && !is_blank(line[start - 1])))
		return colon;
	return start;
}

static int64_t parse_time(struct script_text seconds, struct script_text fraction)
{
	int64_t s = parse_int(seconds), ns = parse_int(fraction), sum;

	if (fraction.len == 6)
		ns *= 1000;
	if (s == SCRIPT_NONE || __builtin_mul_overflow(s, NS_PER_S, &sum) ||
	    __builtin_add_overflow(sum, ns, &sum))
		return SCRIPT_NONE;
	return sum;
}

/* Splits the line at its time: *ret_before and *ret_after. */
static bool split_at_time(struct script_text line, struct script_header *h,
			  struct script_text *ret_before, struct script_text *ret_after)
{
	const char *at = line.ptr, *end = line.ptr + line.len, *colon;

	for (; (colon = memchr(at, ':', (size_t)(end - at))); at = colon + 1) {
		size_t stop = (size_t)(colon - line.ptr);
		size_t start = find_time_start(line.ptr, stop), dot;

		if (start == stop || (colon + 1 < end && !is_blank(colon[1])))
			continue;
		dot = (size_t)((const char *)memchr(line.ptr + start, '.', stop - start) -
			       line.ptr);
		h->time_ns = parse_time((struct script_text){ line.ptr + start, dot - start },
					(struct script_text){ line.ptr + dot + 1, stop - dot - 1 });
		*ret_before = (struct script_text){ line.ptr, start };
		*ret_after = (struct script_text){ colon + 1, (size_t)(end - colon) - 1 };
		return true;
	}
	return false;
}

/* "12/13": both; "13": the tid alone. */
static bool parse_ids(struct script_text word, struct script_header *h)
{
	const char *slash = word.len ? memchr(word.ptr, '/', word.len) : NULL;
	struct script_text tid = word;

	if (slash) {
		struct script_text pid = { word.ptr, (size_t)(slash - word.ptr) };

		tid = (struct script_text){ slash + 1, word.len - pid.len - 1 };
		h->pid = parse_int(pid);
		if (h->pid == SCRIPT_NONE)
			return false;
	}
	h->tid = parse_int(tid);
	if (h->tid == SCRIPT_NONE)
		h->pid = SCRIPT_NONE;
	return h->tid != SCRIPT_NONE;
}

/* "[001]" */
static bool parse_cpu(struct script_text word, struct script_header *h)
{
	if (word.len < 3 || *word.ptr != '[' || word.ptr[word.len - 1] != ']')
		return false;
	h->cpu = parse_int((struct script_text){ word.ptr + 1, word.len - 2 });
	return h->cpu != SCRIPT_NONE;
}

/* Takes "12/13", "[001]" and the letters of -F misc off the end of *rest. */
static bool take_place(struct script_text *rest, struct script_header *h)
{
	struct script_text ahead = *rest, word = take_last_word(&ahead);

	if (parse_cpu(word, h)) {
		*rest = ahead;
		word = take_last_word(&ahead);
		if (parse_ids(word, h))
			*rest = ahead;
		return true;
	}
	if (!parse_ids(word, h))
		return false;
	*rest = ahead;
	return true;
}

static bool is_misc(struct script_text word)
{
	for (size_t i = 0; i < word.len; i++)
		if (word.ptr[i] < 'A' || word.ptr[i] > 'Z')
			return false;
	return word.len > 0;
}

/* What stands before the time: comm, pid and tid, cpu, all of them optional. */
static void parse_thread(struct script_text before, struct script_header *h)
{
	struct script_text rest = script_trim(before), ahead = rest;

	h->thread = rest;
	if (!take_place(&rest, h) && is_misc(take_last_word(&ahead)) && take_place(&ahead, h))
		rest = ahead;
	h->comm = rest;
}

/* The frame behind what a tracepoint tells of itself: an address of at least eight digits,
 * and at the end a dso that is a path or in brackets. */
static struct script_text find_traced_frame(struct script_text rest)
{
	struct script_text text = rest, dso = take_dso(&text);

	if (!dso.len || (*dso.ptr != '/' && *dso.ptr != '['))
		return (struct script_text){ 0 };
	do {
		text = script_trim(text);
		if (script_address(text.ptr, text.len).len >= MIN_TRACED_DIGITS)
			return (struct script_text){ text.ptr,
						     (size_t)(rest.ptr + rest.len - text.ptr) };
	} while (take_word(&text).len);
	return (struct script_text){ 0 };
}

static struct script_text find_flat_frame(struct script_text rest)
{
	rest = script_trim(rest);
	if (script_address(rest.ptr, rest.len).len >= MIN_FLAT_DIGITS)
		return rest;
	return find_traced_frame(rest);
}

static bool is_event(struct script_text word)
{
	return word.len > 1 && word.ptr[word.len - 1] == ':';
}

static bool starts_with(struct script_text t, const char *start)
{
	size_t len = strlen(start);

	return t.len >= len && memcmp(t.ptr, start, len) == 0;
}

/* "PERF_RECORD_LOST lost 12" and other records. */
static bool parse_record(struct script_text text, struct script_header *h)
{
	struct script_text rest = text, word = take_word(&rest);

	h->is_record = starts_with(word, "PERF_RECORD_");
	if (starts_with(word, "PERF_RECORD_LOST") && script_equals(take_word(&rest), "lost"))
		h->lost = parse_int(take_word(&rest));
	if (h->lost < 0)
		h->lost = 0;
	return h->is_record;
}

/* What stands behind the time: period, event, and a frame or words of a tracepoint. */
static void parse_event(struct script_text after, struct script_header *h)
{
	struct script_text rest = after, word = take_word(&rest), ahead = rest;
	struct script_text next = take_word(&ahead);

	if (parse_record(after, h))
		return;
	if (is_number(word) && (is_event(next) || !next.len)) {
		h->period = parse_int(word);
		word = next;
		rest = ahead;
	}
	if (is_event(word)) {
		h->event = (struct script_text){ word.ptr, word.len - 1 };
		after = rest;
	}
	if (h->period == SCRIPT_NONE || h->event.len)
		h->frame = find_flat_frame(after);
}

/* A line without time: the words up to one that ends with ':' tell the thread, and the
 * period when two numbers stand before it. */
static void parse_untimed(struct script_text line, struct script_header *h)
{
	struct script_text rest = line, before = line, after = { 0 }, word, ahead;

	while ((word = take_word(&rest)).len)
		if (is_event(word)) {
			before.len = (size_t)(word.ptr - line.ptr);
			after = rest;
			h->event = (struct script_text){ word.ptr, word.len - 1 };
			break;
		}
	ahead = before;
	word = take_last_word(&ahead);
	if (h->event.len && is_number(word) && ahead.len) {
		struct script_header probe = { 0 };
		struct script_text place = ahead;

		if (take_place(&place, &probe)) {
			h->period = parse_int(word);
			before = ahead;
		}
	}
	parse_thread(before, h);
	h->frame = find_flat_frame(after);
}

bool script_parse_header(const char *line, size_t len, struct script_header *ret)
{
	struct script_text all = { line, len }, before, after;

	*ret = (struct script_header){
		.pid = SCRIPT_NONE,
		.tid = SCRIPT_NONE,
		.cpu = SCRIPT_NONE,
		.time_ns = SCRIPT_NONE,
		.period = SCRIPT_NONE,
	};
	if (split_at_time(all, ret, &before, &after)) {
		parse_thread(before, ret);
		parse_event(after, ret);
	} else if (!parse_record(all, ret)) {
		parse_untimed(all, ret);
	}
	ret->is_sure = ret->time_ns != SCRIPT_NONE ||
		       (ret->event.len && ret->tid != SCRIPT_NONE && ret->frame.len);
	return ret->is_sure || ret->event.len || ret->comm.len || ret->tid != SCRIPT_NONE;
}
