/* SPDX-License-Identifier: MIT */
#include "format/stacktext/legacy_values.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

#define JAVA_HEAP_RATE 524288 /* bytes; its agent knows no other */

static int64_t to_int64(double value)
{
	return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

/* Blanks, a number, perhaps negative; s moves behind it. */
static bool take_number(struct str *s, int64_t *ret)
{
	struct str rest = str_skip_blanks(*s);
	bool is_negative = str_starts_with(rest, "-");
	uint64_t value;
	size_t digits = 0;

	if (is_negative)
		rest = str_part(rest, 1, rest.len);
	while (digits < rest.len && number_is_digit(rest.ptr[digits]))
		digits++;
	if (!digits || !number_parse(rest.ptr, digits, &value) || value > INT64_MAX)
		return false;
	*ret = is_negative ? -(int64_t)value : (int64_t)value;
	*s = str_part(rest, digits, rest.len);
	return true;
}

static bool take_char(struct str *s, const char *text)
{
	struct str rest = str_skip_blanks(*s);

	if (!str_starts_with(rest, text))
		return false;
	*s = str_part(rest, 1, rest.len);
	return true;
}

/* "1: 1024 [4: 4096] @": objects and bytes in use, and allocated. */
static bool take_heap(struct str *s, int64_t ret[LEGACY_MAX_VALUES])
{
	return take_number(s, &ret[0]) && take_char(s, ":") && take_number(s, &ret[1]) &&
	       take_char(s, "[") && take_number(s, &ret[2]) && take_char(s, ":") &&
	       take_number(s, &ret[3]) && take_char(s, "]") && take_char(s, "@");
}

/* "heap_v2/524288", "heapprofile", "growthz", ... */
static bool parse_heap_kind(struct str kind, struct legacy_header *h)
{
	size_t slash = str_find(kind, "/");
	struct str digits = str_part(kind, slash, kind.len);
	uint64_t rate = 0;

	if (digits.len > 1 &&
	    (!number_parse(digits.ptr + 1, digits.len - 1, &rate) || rate > INT64_MAX))
		return false;
	kind = str_part(kind, 0, slash);
	h->period = (int64_t)rate;
	h->is_sampled = true;
	if (str_equals(kind, "heapz_v2") || str_equals(kind, "heap_v2"))
		return true;
	if (str_equals(kind, "heap")) {
		h->period /= 2; /* the text has twice the rate */
		return true;
	}
	h->is_sampled = false;
	h->period = 1;
	if (str_equals(kind, "heapprofile"))
		return true;
	h->has_alloc = false;
	return str_equals(kind, "growth") || str_equals(kind, "growthz") ||
	       str_equals(kind, "fragmentation") || str_equals(kind, "fragmentationz");
}

static bool parse_heap_header(struct str line, struct legacy_header *h)
{
	static const char mark[] = "heap profile:";
	int64_t sums[LEGACY_MAX_VALUES];
	size_t at = str_find(line, mark);

	if (at == line.len)
		return false;
	line = str_part(line, at + sizeof mark - 1, line.len);
	if (!take_heap(&line, sums))
		return false;
	h->kind = LEGACY_HEAP;
	h->has_alloc = (sums[2] != sums[0] && sums[2]) || (sums[3] != sums[1] && sums[3]);
	return parse_heap_kind(str_take_word(&line), h);
}

/* "goroutine profile: total 7" */
static bool parse_count_header(struct str line, struct legacy_header *h)
{
	static const char mark[] = " profile: total ";
	size_t at = str_find(line, mark);
	struct str total;
	int64_t unused;

	if (!at || at == line.len || memchr(line.ptr, ' ', at))
		return false;
	total = str_part(line, at + sizeof mark - 1, line.len);
	h->kind = LEGACY_COUNT;
	h->name = str_part(line, 0, at);
	return take_number(&total, &unused) && !total.len;
}

bool legacy_header_parse(struct str line, struct legacy_header *ret)
{
	*ret = (struct legacy_header){ .period = 1 };
	if (parse_heap_header(line, ret) || parse_count_header(line, ret))
		return true;
	*ret = (struct legacy_header){ .period = 1 };
	if (str_starts_with(line, "--- contentionz ") || str_starts_with(line, "--- mutex:") ||
	    str_starts_with(line, "--- contention:"))
		ret->kind = LEGACY_CONTENTION;
	else if (str_starts_with(line, "--- heapz 1 ---"))
		ret->kind = LEGACY_JAVA_HEAP;
	else if (str_starts_with(line, "--- threadz ") || str_starts_with(line, "--- Thread "))
		ret->kind = LEGACY_THREADS;
	else
		return false;
	return true;
}

static void set_number(int64_t *to, struct str value)
{
	int64_t number;

	if (take_number(&value, &number) && number >= 0)
		*to = number;
}

bool legacy_header_attribute(struct legacy_header *h, struct str line)
{
	size_t at = str_find(line, "=");
	struct str key = str_trim(str_part(line, 0, at)), value;
	int64_t ms = 0;

	if (at == line.len || (h->kind != LEGACY_CONTENTION && h->kind != LEGACY_JAVA_HEAP))
		return false;
	value = str_trim(str_part(line, at + 1, line.len));
	if (str_equals(key, "format"))
		h->is_java = str_equals(value, "java");
	else if (str_equals(key, "resolution"))
		h->unit = value;
	else if (str_equals(key, "cycles/second"))
		set_number(&h->hz, value);
	else if (str_equals(key, "sampling period"))
		set_number(&h->period, value);
	else if (str_equals(key, "discarded samples"))
		set_number(&h->lost_samples, value);
	else if (str_equals(key, "ms since reset"))
		set_number(&ms, value);
	else
		return false;
	if (ms && __builtin_mul_overflow(ms, 1000000, &h->duration_ns))
		h->duration_ns = 0;
	return true;
}

size_t legacy_value_count(const struct legacy_header *h)
{
	if (h->kind == LEGACY_HEAP && h->has_alloc)
		return 4;
	return h->kind == LEGACY_COUNT || h->kind == LEGACY_THREADS ? 1 : 2;
}

void legacy_unsample(int64_t rate, int64_t *count, int64_t *bytes)
{
	double scale;

	if (!*count || !*bytes) {
		*count = *bytes = 0;
		return;
	}
	if (rate <= 1)
		return;
	scale = 1 / (1 - exp(-((double)*bytes / (double)*count) / (double)rate));
	*count = to_int64((double)*count * scale);
	*bytes = to_int64((double)*bytes * scale);
}

/* Bytes without objects are no allocations. */
static bool scale_heap(const struct legacy_header *h, int64_t pair[2], int64_t *block)
{
	if (!pair[0])
		return !pair[1];
	*block = pair[1] / pair[0];
	if (h->is_sampled)
		legacy_unsample(h->period, &pair[0], &pair[1]);
	return true;
}

static bool parse_heap(const struct legacy_header *h, struct str *line, int64_t *ret,
		       int64_t *ret_block)
{
	int64_t heap[LEGACY_MAX_VALUES];

	if (!take_heap(line, heap))
		return false;
	if (h->has_alloc) {
		memcpy(ret, heap + 2, 2 * sizeof *ret); /* allocated ones come first */
		if (!scale_heap(h, ret, ret_block))
			return false;
		ret += 2;
	}
	memcpy(ret, heap, 2 * sizeof *ret);
	return scale_heap(h, ret, ret_block);
}

static int64_t times(int64_t value, int64_t factor)
{
	return __builtin_mul_overflow(value, factor, &value) ? INT64_MAX : value;
}

/* "4800000 2 @": the delay and the number of events. */
static bool parse_delay(const struct legacy_header *h, struct str *line, int64_t *ret)
{
	if (!take_number(line, &ret[1]) || !take_number(line, &ret[0]) || !take_char(line, "@"))
		return false;
	if (!h->period)
		return true;
	ret[0] = times(ret[0], h->period);
	if (h->is_java)
		ret[1] = times(ret[1], h->period);
	else if (h->hz)
		ret[1] = to_int64((double)ret[1] * (double)h->period / ((double)h->hz / 1e9));
	return true;
}

static bool parse_java_heap(struct str *line, int64_t *ret, int64_t *ret_block)
{
	if (!take_number(line, &ret[1]) || !take_number(line, &ret[0]) || !take_char(line, "@") ||
	    !ret[0])
		return false;
	*ret_block = ret[1] / ret[0];
	legacy_unsample(JAVA_HEAP_RATE, &ret[0], &ret[1]);
	return true;
}

bool legacy_values_parse(const struct legacy_header *h, struct str *line,
			 int64_t ret[LEGACY_MAX_VALUES], int64_t *ret_block)
{
	*ret_block = 0;
	switch (h->kind) {
	case LEGACY_HEAP:
		return parse_heap(h, line, ret, ret_block);
	case LEGACY_COUNT:
		return take_number(line, &ret[0]) && take_char(line, "@");
	case LEGACY_CONTENTION:
		return parse_delay(h, line, ret);
	case LEGACY_JAVA_HEAP:
		return parse_java_heap(line, ret, ret_block);
	case LEGACY_THREADS:
		break;
	}
	return false;
}
