/* SPDX-License-Identifier: MIT */
#include "format/stacktext/gotext.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "base/number.h"
#include "format/stacktext/stacktext.h"

enum kind_of_text { KIND_COUNT, KIND_HEAP, KIND_DELAY, KIND_DUMP };
enum { HEAP_VALUES = 4, MAX_VALUES = HEAP_VALUES };

struct reader {
	struct stacktext *t;
	enum kind_of_text kind;
	double rate;        /* KIND_HEAP: mean bytes between two samples; 0: all are sampled */
	double ns_of_cycle; /* KIND_DELAY */
	int64_t period;     /* KIND_DELAY: events of which one is sampled */
	bool is_open;       /* a stack's first line was read */
	int64_t values[MAX_VALUES];
	struct str addresses; /* of the stack, "0x43a1e5 0x406c1b" */
};

static int64_t to_int64(double value)
{
	return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

/* The number that s starts with; s moves behind it and the text that must follow. */
static bool take_number(struct str *s, const char *text, int64_t *ret)
{
	struct str rest = str_skip_blanks(*s);
	size_t digits = 0;

	while (digits < rest.len && number_is_digit(rest.ptr[digits]))
		digits++;
	if (!digits || !stacktext_number(str_part(rest, 0, digits), ret))
		return false;
	rest = str_part(rest, digits, rest.len);
	if (!str_starts_with(rest, text))
		return false;
	*s = str_part(rest, strlen(text), rest.len);
	return true;
}

/* "1: 1024 [4: 4096] @": objects and bytes in use, and allocated. */
static bool take_heap(struct str *s, int64_t *ret)
{
	return take_number(s, ": ", &ret[0]) && take_number(s, " [", &ret[1]) &&
	       take_number(s, ": ", &ret[2]) && take_number(s, "] @", &ret[3]);
}

static void scale_heap(double rate, int64_t *count, int64_t *bytes)
{
	double scale;

	if (!*count || !*bytes) {
		*count = *bytes = 0;
		return;
	}
	if (rate <= 1)
		return;
	scale = 1 / (1 - exp(-((double)*bytes / (double)*count) / rate));
	*count = to_int64((double)*count * scale);
	*bytes = to_int64((double)*bytes * scale);
}

/* The values of a stack's first line in the order of the sample types; false: it is none. */
static bool parse_values(const struct reader *r, struct str *line, int64_t *ret)
{
	int64_t heap[HEAP_VALUES], cycles;

	switch (r->kind) {
	case KIND_COUNT:
		return take_number(line, " @", &ret[0]);
	case KIND_DELAY:
		if (!take_number(line, " ", &cycles) || !take_number(line, " @", &ret[0]))
			return false;
		if (__builtin_mul_overflow(ret[0], r->period, &ret[0]))
			ret[0] = INT64_MAX;
		ret[1] = to_int64((double)cycles * r->ns_of_cycle * (double)r->period);
		return true;
	case KIND_HEAP:
		if (!take_heap(line, heap))
			return false;
		scale_heap(r->rate, &heap[0], &heap[1]);
		scale_heap(r->rate, &heap[2], &heap[3]);
		memcpy(ret, heap + 2, 2 * sizeof *ret); /* allocated ones come first */
		memcpy(ret + 2, heap, 2 * sizeof *ret);
		return true;
	case KIND_DUMP:
		break;
	}
	return false;
}

static void end_stack(struct reader *r)
{
	struct str rest = r->addresses, address;

	if (!r->is_open)
		return;
	if (!stacktext_depth(r->t))
		while ((address = str_take_word(&rest)).len)
			stacktext_push(r->t, address);
	stacktext_add_all(r->t, true, r->values);
	stacktext_cut(r->t, 0);
	r->is_open = false;
}

static struct str take_column(struct str *rest)
{
	struct str column;

	while (rest->len && *rest->ptr == '\t')
		*rest = str_part(*rest, 1, rest->len);
	column = str_part(*rest, 0, str_find(*rest, "\t"));
	*rest = str_part(*rest, column.len, rest->len);
	return column;
}

/* "/srv/main.go:17" and perhaps " +0x64" */
static void push_at(struct stacktext *t, struct str name, struct str place)
{
	uint64_t line = 0;
	const char *colon;

	place.len = str_find(place, " +0x");
	colon = place.len ? memrchr(place.ptr, ':', place.len) : NULL;
	if (colon) {
		struct str digits = str_part(place, (size_t)(colon - place.ptr) + 1, place.len);

		place.len -= digits.len + 1;
		if (!number_parse(digits.ptr, digits.len, &line) || line > INT32_MAX)
			line = 0;
	}
	stacktext_push_at(t, name, place, (int64_t)line);
}

/* "#	0x43a1e4	main.wait+0x64	/srv/main.go:17" */
static void read_frame(struct reader *r, struct str line)
{
	struct str rest = str_part(line, 1, line.len), address = take_column(&rest), name, place;
	const char *plus;

	if (!str_starts_with(address, "0x") || !r->is_open)
		return; /* "# labels: ...", statistics of memory */
	name = take_column(&rest);
	place = take_column(&rest);
	plus = name.len ? memrchr(name.ptr, '+', name.len) : NULL;
	if (plus)
		name.len = (size_t)(plus - name.ptr);
	if (name.len)
		push_at(r->t, name, place);
	else
		stacktext_push(r->t, address);
}

/* Reads the first line; false: it is no header. */
static bool parse_header(struct str line, struct reader *ret)
{
	static const char heap[] = "heap profile: ";
	int64_t unused[HEAP_VALUES];
	uint64_t rate;
	size_t at = str_find(line, " profile: total ");

	*ret = (struct reader){ .t = ret->t, .ns_of_cycle = 1, .period = 1 };
	if (str_equals(line, "--- contention:") || str_equals(line, "--- mutex:")) {
		ret->kind = KIND_DELAY;
		return true;
	}
	if (at && at < line.len) {
		ret->kind = KIND_COUNT;
		line = str_part(line, at + strlen(" profile: total "), line.len);
		return stacktext_number(line, unused);
	}
	if (!str_starts_with(line, heap))
		return false;
	line = str_part(line, sizeof heap - 1, line.len);
	ret->kind = KIND_HEAP;
	if (!take_heap(&line, unused) || !str_starts_with(line, " heap/") ||
	    !number_parse(line.ptr + 6, line.len - 6, &rate))
		return false;
	ret->rate = (double)rate / 2; /* the text has twice the rate */
	return true;
}

static void set_types(struct reader *r, struct str header)
{
	char name[64];
	size_t len = str_find(header, " ");

	switch (r->kind) {
	case KIND_COUNT:
		len = len < sizeof name ? len : sizeof name - 1;
		memcpy(name, header.ptr, len);
		name[len] = '\0';
		stacktext_set_type(r->t, name, "count");
		break;
	case KIND_HEAP:
		stacktext_set_type(r->t, "alloc_objects", "count");
		stacktext_set_type(r->t, "alloc_space", "bytes");
		stacktext_set_type(r->t, "inuse_objects", "count");
		stacktext_set_type(r->t, "inuse_space", "bytes");
		break;
	case KIND_DELAY:
		stacktext_set_type(r->t, "contentions", "count");
		stacktext_set_type(r->t, "delay", "nanoseconds");
		break;
	case KIND_DUMP:
		stacktext_set_type(r->t, "goroutine", "count");
		break;
	}
	if (profile_error(r->t->p) == 0) /* the last is shown, as by pprof */
		profile_info(r->t->p)->default_type = profile_get_type(r->t->p, r->t->type).type;
}

/* "cycles/second=2400000000", "sampling period=5" */
static bool read_setting(struct reader *r, struct str line)
{
	static const char cycles[] = "cycles/second=", period[] = "sampling period=";
	int64_t value;

	if (r->kind != KIND_DELAY)
		return false;
	if (str_starts_with(line, cycles) &&
	    stacktext_number(str_part(line, sizeof cycles - 1, line.len), &value) && value) {
		r->ns_of_cycle = 1e9 / (double)value;
		return true;
	}
	if (str_starts_with(line, period) &&
	    stacktext_number(str_part(line, sizeof period - 1, line.len), &value) && value) {
		r->period = value;
		return true;
	}
	return false;
}

static void read_profile(struct reader *r)
{
	struct str line;

	while (stacktext_line(r->t, &line)) {
		int64_t values[MAX_VALUES] = { 0 };
		struct str rest = line;

		if (!line.len || read_setting(r, line))
			continue;
		if (*line.ptr == '#') {
			read_frame(r, line);
			continue;
		}
		end_stack(r);
		if (!parse_values(r, &rest, values)) {
			stacktext_skip(r->t);
			continue;
		}
		memcpy(r->values, values, sizeof values);
		r->addresses = rest;
		r->is_open = true;
	}
	end_stack(r);
}

/* "goroutine 7 [chan receive, 5 minutes]:" */
static bool is_goroutine(struct str line)
{
	int64_t id;

	if (!str_starts_with(line, "goroutine ") || !str_ends_with(line, "]:"))
		return false;
	line = str_part(line, strlen("goroutine "), line.len);
	return take_number(&line, " [", &id);
}

/* "main.(*store).wait(0xc000010000, {0x1, ...})": without the arguments at the end. */
static struct str cut_arguments(struct str s)
{
	size_t depth = 0;

	if (!str_ends_with(s, ")"))
		return s;
	for (size_t i = s.len; i-- > 0;) {
		depth += s.ptr[i] == ')';
		if (s.ptr[i] == '(' && --depth == 0)
			return str_part(s, 0, i);
	}
	return s;
}

/* A line of a function, then one with its place: a stack of a dump. "created by" is none of it. */
static void read_dump(struct reader *r, struct str line)
{
	struct str function = { "", 0 };

	do {
		if (is_goroutine(line) || !line.len) {
			end_stack(r);
			r->is_open = is_goroutine(line);
			r->values[0] = 1;
			function.len = 0;
		} else if (*line.ptr == '\t' && function.len) {
			push_at(r->t, function, str_part(line, 1, line.len));
			function.len = 0;
		} else if (r->is_open) {
			function = str_starts_with(line, "created by ") ? (struct str){ "", 0 }
									: cut_arguments(line);
		}
	} while (stacktext_line(r->t, &line));
	end_stack(r);
}

static void parse(struct stacktext *t)
{
	struct reader r = { .t = t };
	struct str line;

	while (stacktext_line(t, &line)) {
		if (parse_header(line, &r)) {
			set_types(&r, line);
			read_profile(&r);
		} else if (is_goroutine(line)) {
			r.kind = KIND_DUMP;
			set_types(&r, line);
			read_dump(&r, line);
		}
	}
}

/* A header; a dump may have a panic's message before it, and must have a place behind. */
static bool detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct reader r = { 0 };
	struct str line;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		if (parse_header(line, &r))
			return true;
		if (is_goroutine(line))
			return cursor_line(&c, &line.ptr, &line.len) &&
			       cursor_line(&c, &line.ptr, &line.len) && str_starts_with(line, "\t");
		if (line.len && !str_starts_with(line, "panic: ") &&
		    !str_starts_with(line, "fatal error: ") && !str_starts_with(line, "[signal "))
			return false;
	}
	return false;
}

static const struct stacktext_kind kind = { .name = "go", .parse = parse };

static int go_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&kind, p, data, len, e);
}

static const char *const suffixes[] = { NULL };

const struct format format_go = {
	.name = "go",
	.summary = "profiles and stacks of Go: debug=1, debug=2, panics",
	.mark = "a header or goroutine N [state]",
	.lost = "states of goroutines, statistics of memory",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = detect,
	.read = go_read,
};
