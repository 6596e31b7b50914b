/* SPDX-License-Identifier: MIT */
#include "format/perfscript/line.h"

#include <string.h>

#include "base/clock.h"
#include "base/number.h"

#define MAX_ADDRESS_DIGITS 16
#define MIN_FLAT_DIGITS 4   /* of an address behind an event */
#define MIN_TRACED_DIGITS 8 /* of an address behind a tracepoint's own text */

/* Takes the last word off *rest, and the blanks before it. */
static struct str take_last_word(struct str *rest)
{
	struct str word;
	size_t start;

	*rest = str_trim(*rest);
	start = rest->len;
	while (start && !str_is_blank(rest->ptr[start - 1]))
		start--;
	word = (struct str){ rest->ptr + start, rest->len - start };
	rest->len = start;
	*rest = str_trim(*rest);
	return word;
}

static size_t count_hex(struct str t)
{
	size_t n = 0;

	while (n < t.len && number_hex_digit(t.ptr[n]) >= 0)
		n++;
	return n;
}

static bool is_number(struct str t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!number_is_digit(t.ptr[i]))
			return false;
	return t.len > 0;
}

/* All of t, digits with an optional '-'. SCRIPT_NONE: it is something else, or too large. */
static int64_t parse_int(struct str t)
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

static int64_t parse_period(struct str digits)
{
	int64_t period = parse_int(digits);

	return period == SCRIPT_NONE ? number_end(false) : period;
}

static uint64_t parse_hex(struct str digits)
{
	uint64_t v = 0;

	for (size_t i = 0; i < digits.len; i++)
		v = v << 4 | (uint64_t)number_hex_digit(digits.ptr[i]);
	return v;
}

struct str script_address(const char *line, size_t len)
{
	struct str t = { line, len };

	while (t.len && str_is_blank(*t.ptr)) {
		t.ptr++;
		t.len--;
	}
	len = t.len;
	t.len = count_hex(t);
	if (t.len > MAX_ADDRESS_DIGITS || (t.len < len && !str_is_blank(t.ptr[t.len])))
		t.len = 0;
	return t;
}

bool script_is_frame(const char *line, size_t len)
{
	return len && str_is_blank(*line) && script_address(line, len).len;
}

bool script_is_source(const char *line, size_t len)
{
	return len > 2 && line[0] == ' ' && line[1] == ' ' && !str_is_blank(line[2]) &&
	       !script_address(line, len).len;
}

bool script_is_inlined(const char *line, size_t len)
{
	return str_ends_with((struct str){ line, len }, " (inlined)");
}

/* Where the '(' is that the ')' at the end of t closes; t.len: nowhere. */
static size_t find_open(struct str t)
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
static struct str drop_offset(struct str t)
{
	size_t i = t.len;

	while (i && number_hex_digit(t.ptr[i - 1]) >= 0)
		i--;
	if (i < t.len && i >= 3 && memcmp(t.ptr + i - 3, "+0x", 3) == 0)
		t.len = i - 3;
	return t;
}

static struct str unless_unknown(struct str t)
{
	if (str_equals(t, "[unknown]"))
		t.len = 0;
	return t;
}

/* Takes " (dso)" off the end of *symbol. */
static struct str take_dso(struct str *symbol)
{
	struct str dso = { 0 };
	size_t open;

	if (!symbol->len || symbol->ptr[symbol->len - 1] != ')')
		return dso;
	open = find_open(*symbol);
	if (open == symbol->len || (open && !str_is_blank(symbol->ptr[open - 1])))
		return dso;
	dso = (struct str){ symbol->ptr + open + 1, symbol->len - open - 2 };
	symbol->len = open;
	*symbol = str_trim(*symbol);
	dso = drop_offset(dso);
	if (str_ends_with(dso, " (deleted)"))
		dso.len -= strlen(" (deleted)");
	return dso;
}

bool script_parse_frame(const char *line, size_t len, struct script_frame *ret)
{
	struct str digits = script_address(line, len);
	struct str rest;

	if (!digits.len)
		return false;
	rest.ptr = digits.ptr + digits.len;
	rest.len = (size_t)(line + len - rest.ptr);
	rest = str_trim(rest);
	*ret = (struct script_frame){ .address = parse_hex(digits) };
	ret->dso = take_dso(&rest);
	if (str_equals(ret->dso, "inlined")) {
		ret->is_inlined = true;
		ret->dso.len = 0;
	}
	ret->dso = unless_unknown(ret->dso);
	ret->symbol = unless_unknown(drop_offset(rest));
	return true;
}

void script_parse_source(const char *line, size_t len, struct str *ret_file, int64_t *ret_line)
{
	struct str t = str_trim((struct str){ line, len });
	struct str number;
	size_t colon;

	if (str_ends_with(t, " (inlined)"))
		t.len -= strlen(" (inlined)");
	colon = t.len;
	while (colon && t.ptr[colon - 1] != ':')
		colon--;
	number = (struct str){ t.ptr + colon, t.len - colon };
	*ret_line = parse_int(number);
	*ret_file = (struct str){ t.ptr, colon ? colon - 1 : 0 };
	if (*ret_line < 0 || !ret_file->len || str_equals(*ret_file, "??")) {
		ret_file->len = 0;
		*ret_line = 0;
	}
}

/* "1950.096826" before the ':' at line[colon]: where it starts; colon: there is no time. */
static size_t find_time_start(const char *line, size_t colon)
{
	size_t dot = colon, start;

	while (dot && number_is_digit(line[dot - 1]))
		dot--;
	if (!dot || line[dot - 1] != '.' || (colon - dot != 6 && colon - dot != 9))
		return colon;
	start = --dot;
	while (start && number_is_digit(line[start - 1]))
		start--;
	if (start == dot || (start && !str_is_blank(line[start - 1])))
		return colon;
	return start;
}

static int64_t parse_time(struct str seconds, struct str fraction)
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
static bool split_at_time(struct str line, struct script_header *h, struct str *ret_before,
			  struct str *ret_after)
{
	const char *at = line.ptr, *end = line.ptr + line.len, *colon;

	for (; (colon = memchr(at, ':', (size_t)(end - at))); at = colon + 1) {
		size_t stop = (size_t)(colon - line.ptr);
		size_t start = find_time_start(line.ptr, stop), dot;

		if (start == stop || (colon + 1 < end && !str_is_blank(colon[1])))
			continue;
		dot = (size_t)((const char *)memchr(line.ptr + start, '.', stop - start) -
			       line.ptr);
		h->time_ns = parse_time((struct str){ line.ptr + start, dot - start },
					(struct str){ line.ptr + dot + 1, stop - dot - 1 });
		*ret_before = (struct str){ line.ptr, start };
		*ret_after = (struct str){ colon + 1, (size_t)(end - colon) - 1 };
		return true;
	}
	return false;
}

/* "12/13": both; "13": the tid alone. */
static bool parse_ids(struct str word, struct script_header *h)
{
	const char *slash = word.len ? memchr(word.ptr, '/', word.len) : NULL;
	struct str tid = word;

	if (slash) {
		struct str pid = { word.ptr, (size_t)(slash - word.ptr) };

		tid = (struct str){ slash + 1, word.len - pid.len - 1 };
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
static bool parse_cpu(struct str word, struct script_header *h)
{
	if (word.len < 3 || *word.ptr != '[' || word.ptr[word.len - 1] != ']')
		return false;
	h->cpu = parse_int((struct str){ word.ptr + 1, word.len - 2 });
	return h->cpu != SCRIPT_NONE;
}

/* Takes "12/13", "[001]" and the letters of -F misc off the end of *rest. */
static bool take_place(struct str *rest, struct script_header *h)
{
	struct str ahead = *rest, word = take_last_word(&ahead);

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

static bool is_misc(struct str word)
{
	for (size_t i = 0; i < word.len; i++)
		if (word.ptr[i] < 'A' || word.ptr[i] > 'Z')
			return false;
	return word.len > 0;
}

/* What stands before the time: comm, pid and tid, cpu, all of them optional. */
static void parse_thread(struct str before, struct script_header *h)
{
	struct str rest = str_trim(before), ahead = rest;

	h->thread = rest;
	if (!take_place(&rest, h) && is_misc(take_last_word(&ahead)) && take_place(&ahead, h))
		rest = ahead;
	h->comm = rest;
}

/* The frame behind a tracepoint's own fields: an address of at least eight digits,
 * and at the end a dso that is a path or in brackets. */
static struct str find_traced_frame(struct str rest)
{
	struct str text = rest, dso = take_dso(&text);

	if (!dso.len || (*dso.ptr != '/' && *dso.ptr != '['))
		return (struct str){ 0 };
	do {
		text = str_trim(text);
		if (script_address(text.ptr, text.len).len >= MIN_TRACED_DIGITS)
			return (struct str){ text.ptr, (size_t)(rest.ptr + rest.len - text.ptr) };
	} while (str_take_word(&text).len);
	return (struct str){ 0 };
}

static struct str find_flat_frame(struct str rest)
{
	rest = str_trim(rest);
	if (script_address(rest.ptr, rest.len).len >= MIN_FLAT_DIGITS)
		return rest;
	return find_traced_frame(rest);
}

static bool is_event(struct str word)
{
	return word.len > 1 && word.ptr[word.len - 1] == ':';
}

/* "PERF_RECORD_LOST lost 12" and other records. */
static bool parse_record(struct str text, struct script_header *h)
{
	struct str rest = text, word = str_take_word(&rest);

	h->is_record = str_starts_with(word, "PERF_RECORD_");
	if (str_starts_with(word, "PERF_RECORD_LOST") && str_equals(str_take_word(&rest), "lost"))
		h->lost = parse_int(str_take_word(&rest));
	if (h->lost < 0)
		h->lost = 0;
	return h->is_record;
}

/* What stands behind the time: period, event, and a frame or words of a tracepoint. */
static void parse_event(struct str after, struct script_header *h)
{
	struct str rest = after, word = str_take_word(&rest), ahead = rest;
	struct str next = str_take_word(&ahead);

	if (parse_record(after, h))
		return;
	if (is_number(word) && (is_event(next) || !next.len)) {
		h->period = parse_period(word);
		word = next;
		rest = ahead;
	}
	if (is_event(word)) {
		h->event = (struct str){ word.ptr, word.len - 1 };
		after = rest;
	}
	if (h->period == SCRIPT_NONE || h->event.len)
		h->frame = find_flat_frame(after);
}

/* A line without time: the words up to one that ends with ':' name the thread, and the
 * period when two numbers stand before it. */
static void parse_untimed(struct str line, struct script_header *h)
{
	struct str rest = line, before = line, after = { 0 }, word, ahead;

	while ((word = str_take_word(&rest)).len)
		if (is_event(word)) {
			before.len = (size_t)(word.ptr - line.ptr);
			after = rest;
			h->event = (struct str){ word.ptr, word.len - 1 };
			break;
		}
	ahead = before;
	word = take_last_word(&ahead);
	if (h->event.len && is_number(word) && ahead.len) {
		struct script_header probe = { 0 };
		struct str place = ahead;

		if (take_place(&place, &probe)) {
			h->period = parse_period(word);
			before = ahead;
		}
	}
	parse_thread(before, h);
	h->frame = find_flat_frame(after);
}

bool script_parse_header(const char *line, size_t len, struct script_header *ret)
{
	struct str all = { line, len }, before, after;

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
