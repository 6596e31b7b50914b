/* SPDX-License-Identifier: MIT */
#include "format/gperftools/gperftools.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/map.h"
#include "base/number.h"
#include "base/rows.h"
#include "base/str.h"
#include "format/java_locations.h"
#include "format/legacy_maps.h"

#define HEADER_WORDS 5
#define MAX_HEADER 65536 /* words that may follow the second */
#define NS_PER_US 1000

/* How the words of a file are stored. */
struct shape {
	size_t word_bytes; /* 4 or 8 */
	bool is_big_endian;
};

struct reader {
	struct profile *p;
	const unsigned char *data; /* the whole input */
	struct cursor words;       /* from the header on */
	struct shape shape;
	bool is_symbolized;
	bool is_java; /* names stand behind the records, and no address is one of a call */
	int64_t period_us;
	struct map names; /* address to string id: of the symbolized form */
	struct legacy_maps maps;
	struct map locations; /* address to location id */
	struct rows pcs;      /* uint64_t: of the record being read, leaf first */
};

static void reader_fini(struct reader *r)
{
	map_fini(&r->names);
	legacy_maps_fini(&r->maps);
	map_fini(&r->locations);
	rows_fini(&r->pcs);
}

static uint64_t read_word(struct cursor *c, struct shape shape)
{
	const unsigned char *bytes = cursor_bytes(c, shape.word_bytes);
	uint64_t word = 0;

	for (size_t i = 0; bytes && i < shape.word_bytes; i++)
		word = word << 8 | bytes[shape.is_big_endian ? i : shape.word_bytes - 1 - i];
	return word;
}

/* The header's words are 0, 3 or more, 0 or 1, the period, and more that are unknown. */
static bool has_shape(struct cursor c, struct shape shape)
{
	uint64_t words[HEADER_WORDS];

	for (size_t i = 0; i < HEADER_WORDS; i++)
		words[i] = read_word(&c, shape);
	return !c.bad && words[0] == 0 && words[1] >= 3 && words[1] <= MAX_HEADER &&
	       words[2] <= 1 && words[3] <= INT64_MAX / NS_PER_US && words[4] == 0;
}

static bool find_shape(struct cursor c, struct shape *ret)
{
	static const struct shape shapes[] = {
		{ 8, false }, { 4, false }, { 8, true }, { 4, true }
	};

	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		if (has_shape(c, shapes[i])) {
			*ret = shapes[i];
			return true;
		}
	}
	return false;
}

bool gperftools_detect(const unsigned char *data, size_t len)
{
	struct shape shape;

	return find_shape(cursor_make(data, len), &shape);
}

bool gperftools_symbols_detect(const unsigned char *data, size_t len)
{
	return str_starts_with((struct str){ (const char *)data, len }, "--- symbol\n");
}

static size_t position(const struct reader *r, const unsigned char *at)
{
	return (size_t)(at - r->data);
}

/* "0x0000000000401234 main--inlined": a line of the symbol section. */
static int add_name(struct reader *r, const char *line, size_t len, struct err *e)
{
	uint64_t address;
	size_t digits;

	if (!str_starts_with((struct str){ line, len }, "0x"))
		return 0; /* "binary=...", for which the maps are a better source */
	digits = number_parse_hex(line + 2, len - 2, &address);
	if (!digits || len < digits + 4 || line[2 + digits] != ' ')
		return err_set(e, -EINVAL, "no address and name");
	line += digits + 3;
	len -= digits + 3;
	if (map_put(&r->names, address, profile_str_n(r->p, line, len)) < 0)
		return err_nomem(e);
	return profile_check(r->p, e);
}

/* "--- symbol", its lines, "---", "--- profile"; the words begin behind it. */
static int read_names(struct reader *r, struct err *e)
{
	struct cursor *text = &r->words;
	const char *line;
	size_t len;

	cursor_line(text, &line, &len);
	for (;;) {
		size_t at = position(r, text->at);

		if (!cursor_line(text, &line, &len))
			return err_set(e, -EINVAL, "byte %zu: the symbols do not end", at);
		if (str_starts_with((struct str){ line, len }, "---"))
			break;
		if (add_name(r, line, len, e) < 0)
			return e->code == -ENOMEM ? e->code : err_wrap(e, "byte %zu", at);
	}
	if (!cursor_line(text, &line, &len) ||
	    !str_starts_with((struct str){ line, len }, "--- profile"))
		return err_set(e, -EINVAL, "byte %zu: no profile behind the symbols",
			       position(r, text->at));
	return 0;
}

static uint32_t add_function(struct reader *r, struct str name)
{
	uint32_t id;

	while (name.len && name.ptr[name.len - 1] == ' ')
		name.len--;
	for (; name.len && *name.ptr == ' '; name.ptr++)
		name.len--;
	id = profile_str_n(r->p, name.ptr, name.len);
	return profile_add_function(r->p, &(struct function){ .name = id, .system_name = id });
}

/* "outer--inner" as lines, the innermost first. */
static int split_names(struct reader *r, uint32_t names, struct rows *ret)
{
	struct str left = profile_get_str(r->p, names);
	struct line *lines;

	for (;;) {
		const char *mark = memmem(left.ptr, left.len, "--", 2);
		struct str name = { left.ptr, mark ? (size_t)(mark - left.ptr) : left.len };
		struct line *line = rows_add(ret, sizeof *line);

		if (!line)
			return -ENOMEM;
		line->function = add_function(r, name);
		if (!mark)
			break;
		left.ptr += name.len + 2;
		left.len -= name.len + 2;
	}
	lines = ret->data;
	for (size_t i = 0; i < ret->count / 2; i++) {
		struct line swapped = lines[i];

		lines[i] = lines[ret->count - 1 - i];
		lines[ret->count - 1 - i] = swapped;
	}
	return 0;
}

/* Is it in the range of what has no address? */
static bool is_number(const struct reader *r, const struct location *l)
{
	const struct mapping *m = profile_get_mapping(r->p, l->mapping);

	return strcmp(profile_text(r->p, m->path), GPERFTOOLS_NAMES) == 0;
}

static uint32_t add_location(struct reader *r, uint64_t address)
{
	CLEANUP(rows_fini) struct rows lines = { 0 };
	uint32_t names = map_get(&r->names, address);
	struct location l = { .mapping = legacy_maps_find(&r->maps, address), .address = address };

	if (names != MAP_NONE && split_names(r, names, &lines) < 0) {
		profile_fail_nomem(r->p);
		return 0;
	}
	l.lines = lines.data;
	l.line_count = (uint32_t)lines.count;
	if (is_number(r, &l)) {
		l.mapping = 0;
		l.address = l.line_count ? 0 : address;
	}
	return profile_add_location(r->p, &l);
}

/* 0: out of memory. */
static uint32_t find_location(struct reader *r, uint64_t address)
{
	uint32_t *location = map_at(&r->locations, address);

	if (!location)
		return 0;
	if (*location == MAP_NONE)
		*location = add_location(r, address);
	return *location;
}

/* One record from the leaf to the root. 0: it is the end. */
static int read_record(struct reader *r, uint64_t *ret_count, struct err *e)
{
	size_t at = position(r, r->words.at);
	uint64_t depth;

	*ret_count = read_word(&r->words, r->shape);
	depth = read_word(&r->words, r->shape);
	if (depth > FORMAT_MAX_DEPTH)
		return err_set(e, -EINVAL, "byte %zu: stack of %" PRIu64 " frames", at, depth);
	if (!r->words.bad && cursor_left(&r->words) / r->shape.word_bytes < depth)
		r->words.bad = true;
	if (r->words.bad)
		return err_set(e, -EINVAL, "byte %zu: record is cut off", at);
	if (rows_reserve(&r->pcs, depth, sizeof(uint64_t)) < 0)
		return err_nomem(e);
	for (r->pcs.count = 0; r->pcs.count < depth; r->pcs.count++)
		((uint64_t *)r->pcs.data)[r->pcs.count] = read_word(&r->words, r->shape);
	return *ret_count == 0 && depth == 1 && *(uint64_t *)r->pcs.data == 0 ? 0 : 1;
}

static int push_stack(struct reader *r, uint32_t *ret_node, struct err *e)
{
	const uint64_t *pcs = r->pcs.data;

	*ret_node = r->pcs.count ? 0
				 : profile_push(r->p, 0,
						profile_name_location(r->p, FORMAT_NO_STACK,
								      strlen(FORMAT_NO_STACK)));
	for (size_t i = r->pcs.count; i-- > 0;) {
		bool is_caller = i && pcs[i] && !r->is_symbolized && !r->is_java;
		uint32_t location = find_location(r, pcs[i] - is_caller);

		if (!location)
			return err_nomem(e);
		*ret_node = profile_push(r->p, *ret_node, location);
	}
	return 0;
}

static int add_record(struct reader *r, uint64_t count, struct err *e)
{
	int64_t values[2];
	uint32_t node;
	int rc;

	values[0] = count > INT64_MAX ? number_end(false) : (int64_t)count;
	if (__builtin_mul_overflow(values[0], r->period_us * NS_PER_US, &values[1]))
		values[1] = number_end(false);
	rc = push_stack(r, &node, e);
	if (rc < 0)
		return rc;
	profile_add(r->p, node, 0, values);
	return profile_check(r->p, e);
}

/* The maps stand behind the records and are needed for them: a first round finds them. */
static int find_maps(struct reader *r, struct err *e)
{
	struct cursor words = r->words;
	uint64_t count;
	int rc = 1;

	while (rc > 0 && cursor_left(&r->words))
		rc = read_record(r, &count, e);
	if (rc == 0 && r->is_java && java_locations_read(&r->locations, r->p, r->words) < 0)
		return err_nomem(e);
	if (rc == 0)
		rc = legacy_maps_read(&r->maps, r->p, r->words, e);
	r->words = words;
	return rc < 0 ? rc : 0;
}

static int read_header(struct reader *r, struct err *e)
{
	uint64_t left;

	if (!find_shape(r->words, &r->shape))
		return err_set(e, -EINVAL, "byte %zu: not the header of a CPU profile",
			       position(r, r->words.at));
	read_word(&r->words, r->shape);
	left = read_word(&r->words, r->shape);
	r->is_java = read_word(&r->words, r->shape) == 1;
	r->period_us = (int64_t)read_word(&r->words, r->shape);
	for (left -= 2; left > 0 && !r->words.bad; left--)
		read_word(&r->words, r->shape);
	profile_add_type(r->p, "samples", "count");
	if (r->period_us) {
		struct profile_info *info = profile_info(r->p);

		profile_add_type(r->p, "cpu", "nanoseconds");
		info->period_type.type = profile_str(r->p, "cpu");
		info->period_type.unit = profile_str(r->p, "nanoseconds");
		info->period = r->period_us * NS_PER_US;
	}
	return profile_check(r->p, e);
}

static int read_records(struct reader *r, struct err *e)
{
	int rc = 1;

	while (cursor_left(&r->words)) {
		size_t at = position(r, r->words.at);
		uint64_t count;

		rc = read_record(r, &count, e);
		if (rc <= 0)
			return rc;
		rc = add_record(r, count, e);
		if (rc < 0)
			return rc == -ENOMEM ? rc : err_wrap(e, "byte %zu", at);
	}
	return 0;
}

int gperftools_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	CLEANUP(reader_fini) struct reader r = { .p = p, .data = data };
	int rc = 0;

	r.words = cursor_make(data, len);
	r.is_symbolized = gperftools_symbols_detect(data, len);
	if (r.is_symbolized)
		rc = read_names(&r, e);
	if (rc == 0)
		rc = read_header(&r, e);
	if (rc == 0)
		rc = find_maps(&r, e);
	return rc < 0 ? rc : read_records(&r, e);
}
