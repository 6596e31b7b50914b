/* SPDX-License-Identifier: MIT */
#include "format/folded.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/log.h"
#include "base/number.h"
#include "base/rows.h"
#include "base/str.h"

#define MICRO 1000000u
#define MICRO_DIGITS 6
#define MAX_COLUMNS 2

static size_t trim_end(const char *text, size_t len)
{
	while (len && str_is_blank(text[len - 1]))
		len--;
	return len;
}

static void parse_fraction(const char *at, const char *end, struct folded_number *ret)
{
	uint32_t unit = MICRO;

	for (uint32_t i = 1; at < end && i <= MICRO_DIGITS; i++, at++) {
		unit /= 10;
		ret->micro += (uint32_t)(*at - '0') * unit;
		if (*at != '0')
			ret->decimals = i;
	}
}

static void parse_number(const char *at, const char *end, struct folded_number *ret)
{
	*ret = (struct folded_number){ .is_negative = *at == '-' };
	if (ret->is_negative)
		at++;
	for (; at < end && *at != '.'; at++) {
		int digit = ret->is_negative ? '0' - *at : *at - '0';

		ret->is_huge |= __builtin_mul_overflow(ret->whole, 10, &ret->whole) ||
				__builtin_add_overflow(ret->whole, digit, &ret->whole);
	}
	if (at < end)
		parse_fraction(at + 1, end, ret);
}

bool folded_cut_number(const char *text, size_t *len, struct folded_number *ret)
{
	size_t end = trim_end(text, *len), start = end, points = 0, digits = 0;

	for (; start && (number_is_digit(text[start - 1]) || text[start - 1] == '.'); start--) {
		points += text[start - 1] == '.';
		digits += text[start - 1] != '.';
	}
	if (start && text[start - 1] == '-')
		start--;
	if (!digits || points > 1 || !start || !str_is_blank(text[start - 1]))
		return false;
	parse_number(text + start, text + end, ret);
	*len = trim_end(text, start);
	return true;
}

/* What all lines have in common. */
struct shape {
	size_t columns;
	uint32_t decimals[MAX_COLUMNS];
};

/* The line without its numbers, which stand in their order; how many there were, at most max. */
static size_t cut_numbers(const char *line, size_t *len, size_t max, struct folded_number *ret)
{
	struct folded_number last, before;

	if (!folded_cut_number(line, len, &last))
		return 0;
	if (max == 2 && folded_cut_number(line, len, &before)) {
		ret[0] = before;
		ret[1] = last;
		return 2;
	}
	ret[0] = last;
	return 1;
}

static bool is_comment(const char *line, size_t len)
{
	struct folded_number number;

	return trim_end(line, len) == 0 ||
	       (*line == '#' && !folded_cut_number(line, &len, &number));
}

static uint32_t more(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* A line with fewer than two numbers makes one column of all, which has the last number. */
static struct shape find_shape(struct cursor text)
{
	struct shape shape = { .columns = MAX_COLUMNS };
	uint32_t last_decimals = 0;
	bool is_empty = true;
	const char *line;
	size_t len;

	while (cursor_line(&text, &line, &len)) {
		struct folded_number numbers[MAX_COLUMNS] = { 0 };
		size_t count = cut_numbers(line, &len, MAX_COLUMNS, numbers);

		if (!count)
			continue; /* a comment, or the second round complains */
		is_empty = false;
		if (count < MAX_COLUMNS)
			shape.columns = 1;
		last_decimals = more(last_decimals, numbers[count - 1].decimals);
		shape.decimals[0] = more(shape.decimals[0], numbers[0].decimals);
	}
	if (is_empty)
		shape.columns = 1;
	shape.decimals[shape.columns - 1] = last_decimals;
	return shape;
}

/* A column's values in whole units of a scale. */
struct scale {
	uint32_t factor; /* units of one */
	const char *unit;
};

static struct scale choose_scale(uint32_t decimals)
{
	if (decimals == 0)
		return (struct scale){ 1, "count" };
	if (decimals <= 3)
		return (struct scale){ 1000, "thousandths" };
	return (struct scale){ MICRO, "millionths" };
}

/* A frame of the line before: neighbors mostly share their outer frames. */
struct frame {
	size_t end; /* in the line, of its name */
	uint32_t node;
};

struct reader {
	struct profile *p;
	struct shape shape;
	struct scale scales[MAX_COLUMNS];
	struct rows locations; /* uint32_t, by string id of the frame's text; 0: not yet */
	struct rows frames;    /* struct frame: the stack of the line before */
	const char *before;    /* the line before without its numbers */
	size_t before_len;
	size_t taken;   /* lines that are stacks */
	size_t skipped; /* lines without a value */
	size_t first_skipped;
};

static void reader_fini(struct reader *r)
{
	rows_fini(&r->locations);
	rows_fini(&r->frames);
}

/* 0: out of memory. */
static uint32_t find_location(struct reader *r, const char *name, size_t len)
{
	uint32_t string, *location;

	if (!len) {
		name = "[unknown]";
		len = strlen(name);
	}
	string = profile_str_n(r->p, name, len);
	while (r->locations.count <= string)
		if (!rows_add(&r->locations, sizeof *location))
			return 0;
	location = (uint32_t *)r->locations.data + string;
	if (!*location)
		*location = profile_name_location(r->p, name, len);
	return *location;
}

static size_t common_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len, i = 0;

	for (; i + 8 <= len; i += 8)
		if (memcmp(a + i, b + i, 8) != 0)
			break;
	while (i < len && a[i] == b[i])
		i++;
	return i;
}

/* Frames of the line before that this one begins with. */
static size_t common_frames(const struct reader *r, const char *line, size_t len)
{
	size_t bytes = common_bytes(r->before, r->before_len, line, len), count = 0;
	const struct frame *frames = r->frames.data;
	size_t depth = r->frames.count;

	while (count < depth && frames[count].end < bytes)
		count++;
	if (count < depth && frames[count].end == bytes && (bytes == len || line[bytes] == ';'))
		count++;
	return count;
}

static int push_frame(struct reader *r, const char *line, size_t start, size_t end, uint32_t *node,
		      struct err *e)
{
	uint32_t location = find_location(r, line + start, end - start);
	struct frame *frame;

	if (!location)
		return err_nomem(e);
	if (r->frames.count == FORMAT_MAX_DEPTH)
		return err_set(e, -EINVAL, "stack of more than %d frames", FORMAT_MAX_DEPTH);
	frame = rows_add(&r->frames, sizeof *frame);
	if (!frame)
		return err_nomem(e);
	*node = profile_push(r->p, *node, location);
	*frame = (struct frame){ end, *node };
	return 0;
}

/* line: without its numbers, not empty. */
static int push_stack(struct reader *r, const char *line, size_t len, uint32_t *ret, struct err *e)
{
	size_t start = 0;

	r->frames.count = common_frames(r, line, len);
	*ret = 0;
	if (r->frames.count) {
		const struct frame *last = (struct frame *)r->frames.data + r->frames.count - 1;

		*ret = last->node;
		start = last->end + 1;
	}
	while (start <= len) {
		const char *semicolon = start < len ? memchr(line + start, ';', len - start) : NULL;
		size_t end = semicolon ? (size_t)(semicolon - line) : len;
		int rc = push_frame(r, line, start, end, ret, e);

		if (rc < 0)
			return rc;
		start = end + 1;
	}
	r->before = line;
	r->before_len = len;
	return 0;
}

static int64_t scale_number(const struct folded_number *n, struct scale scale)
{
	int64_t part = n->micro / (MICRO / scale.factor), value;

	if (n->is_huge || __builtin_mul_overflow(n->whole, scale.factor, &value) ||
	    __builtin_add_overflow(value, n->is_negative ? -part : part, &value))
		return number_end(n->is_negative);
	return value;
}

static int add_line(struct reader *r, const char *line, size_t len, size_t number, struct err *e)
{
	struct folded_number numbers[MAX_COLUMNS];
	int64_t values[MAX_COLUMNS];
	uint32_t node = 0;
	int rc;

	if (is_comment(line, len))
		return 0;
	if (cut_numbers(line, &len, r->shape.columns, numbers) < r->shape.columns) {
		if (!r->skipped++)
			r->first_skipped = number;
		return 0;
	}
	r->taken++;
	for (size_t i = 0; i < r->shape.columns; i++)
		values[i] = scale_number(&numbers[i], r->scales[i]);
	rc = len ? push_stack(r, line, len, &node, e)
		 : push_stack(r, FORMAT_NO_STACK, strlen(FORMAT_NO_STACK), &node, e);
	if (rc < 0)
		return rc;
	profile_add(r->p, node, 0, values);
	return profile_check(r->p, e);
}

static void add_types(struct reader *r)
{
	static const char *const names[MAX_COLUMNS][MAX_COLUMNS] = { { "samples" },
								     { "before", "after" } };

	for (size_t i = 0; i < r->shape.columns; i++) {
		r->scales[i] = choose_scale(r->shape.decimals[i]);
		profile_add_type(r->p, names[r->shape.columns - 1][i], r->scales[i].unit);
	}
}

/* The number of the line that has at. */
static size_t line_number(const unsigned char *data, const unsigned char *at)
{
	size_t number = 1;

	while ((data = memchr(data, '\n', (size_t)(at - data)))) {
		number++;
		data++;
	}
	return number;
}

static int check_text(const unsigned char *data, size_t len, struct err *e)
{
	const unsigned char *nul = len ? memchr(data, 0, len) : NULL;

	if (!nul)
		return 0;
	return err_set(e, -EINVAL, "line %zu: not text: there is a NUL byte",
		       line_number(data, nul));
}

static int check_skipped(const struct reader *r, struct err *e)
{
	profile_info(r->p)->skipped_lines = r->skipped;
	if (!r->skipped)
		return 0;
	if (!r->taken)
		return err_set(e, -EINVAL, "line %zu: no value at the end of the line",
			       r->first_skipped);
	log_msg(LOG_WARN, "folded",
		"lines without a value at their end are skipped: %zu, the first is line %zu",
		r->skipped, r->first_skipped);
	return 0;
}

int folded_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	struct cursor text = cursor_make(data, len);
	CLEANUP(reader_fini) struct reader r = { .p = p };
	const char *line;
	size_t line_len;
	int rc = check_text(data, len, e);

	if (rc < 0)
		return rc;
	r.shape = find_shape(text);
	add_types(&r);
	for (size_t number = 1; cursor_line(&text, &line, &line_len); number++) {
		rc = add_line(&r, line, line_len, number, e);
		if (rc < 0)
			return rc == -ENOMEM ? rc : err_wrap(e, "line %zu", number);
	}
	rc = check_skipped(&r, e);
	return rc < 0 ? rc : profile_check(p, e);
}

/* What is looked at: some lines, but a very deep stack is a long one. 0: this is no text. */
static size_t look_len(const unsigned char *data, size_t len)
{
	enum { LOOK_BYTES = 64 * 1024, LINE_BYTES = 64 * 1024 * 1024 };
	size_t look = len < LOOK_BYTES ? len : LOOK_BYTES;
	size_t line = len < LINE_BYTES ? len : LINE_BYTES;
	const unsigned char *newline;

	if (!look || memchr(data, 0, look))
		return 0;
	newline = memchr(data, '\n', line);
	if (newline)
		line = (size_t)(newline - data) + 1;
	return line > look ? line : look;
}

bool folded_detect(const unsigned char *data, size_t len)
{
	enum { ENOUGH_LINES = 8 };
	size_t look = look_len(data, len);
	struct cursor text = cursor_make(data, look);
	bool is_cut = look && look < len && data[look - 1] != '\n';
	size_t found = 0, missed = 0, line_len;
	const char *line;

	if (!look || memchr(data, 0, look))
		return false;
	while (found + missed < ENOUGH_LINES && cursor_line(&text, &line, &line_len)) {
		struct folded_number number;

		if (!cursor_left(&text) && is_cut)
			break; /* by us */
		if (is_comment(line, line_len))
			continue;
		if (folded_cut_number(line, &line_len, &number))
			found++;
		else
			missed++;
	}
	return found > missed; /* the reader counts the invalid lines */
}
