/* SPDX-License-Identifier: MIT */
#include "interp/codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/rows.h"
#include "interp/python_lines.h"
#include "interp/python_text.h"

#define UNKNOWN "[python]"

/* A code object. */
struct code {
	uint32_t function, mapping; /* of the profile; 0: not yet */
	size_t name_at, file_at;    /* in codes.bytes, each behind a NUL */
	uint32_t minor, instructions;
	int64_t first_line;
	size_t table_at, table_len; /* there */
};

struct codes {
	struct profile *profile;
	struct rows rows; /* struct code */
	struct map by_id; /* index of a row */
	struct buf bytes; /* names, tables of lines */
	struct map lines; /* (row, place in its code): location */
};

struct codes *codes_new(void)
{
	return calloc(1, sizeof(struct codes));
}

void codes_free(struct codes *c)
{
	if (!c)
		return;
	rows_fini(&c->rows);
	map_fini(&c->by_id);
	map_fini(&c->lines);
	buf_fini(&c->bytes);
	free(c);
}

void codes_use(struct codes *c, struct profile *p)
{
	struct code *rows = c->rows.data;

	c->profile = p;
	map_clear(&c->lines);
	for (size_t i = 0; i < c->rows.count; i++)
		rows[i].function = rows[i].mapping = 0;
}

/* Appends a text and a NUL; without one, what stands for it. Returns its place. */
static size_t put_text(struct codes *c, const struct python_text *t, const char *bytes)
{
	size_t at = c->bytes.len, got = t->got > PYTHON_TEXT_BYTES ? PYTHON_TEXT_BYTES : t->got;

	if (got)
		python_text_put(&c->bytes, bytes, got, t->width, got < t->bytes);
	else
		buf_put_str(&c->bytes, UNKNOWN);
	buf_put(&c->bytes, "", 1);
	return at;
}

int codes_add(struct codes *c, const void *bytes, size_t len)
{
	const struct python_code *from = bytes;
	size_t head = offsetof(struct python_code, table);
	struct code *code;

	if (len < head)
		return 0;
	code = rows_add(&c->rows, sizeof *code);
	if (!code || map_put(&c->by_id, from->id, (uint32_t)c->rows.count - 1) < 0)
		return -ENOMEM;
	*code = (struct code){
		.name_at = put_text(c, &from->name, from->name_bytes),
		.file_at = put_text(c, &from->file, from->file_bytes),
		.minor = from->minor,
		.instructions = from->instructions,
		.first_line = from->first_line,
		.table_len = len - head > from->table_got ? from->table_got : len - head,
	};
	code->table_at = c->bytes.len;
	buf_put(&c->bytes, from->table, code->table_len);
	return buf_error(&c->bytes);
}

/* The code object as the profile has it. */
static void declare(struct codes *c, struct code *code)
{
	struct mapping m = { .has_functions = true,
			     .has_filenames = true,
			     .has_line_numbers = true,
			     .has_inline_frames = true };
	struct function f = { .start_line = code->first_line };

	f.name = f.system_name = profile_str(c->profile, c->bytes.data + code->name_at);
	f.file = m.path = profile_str(c->profile, c->bytes.data + code->file_at);
	code->function = profile_add_function(c->profile, &f);
	code->mapping = profile_add_mapping(c->profile, &m);
}

static uint32_t make_location(struct codes *c, struct code *code, int32_t at)
{
	const unsigned char *table = (const unsigned char *)c->bytes.data + code->table_at;
	struct line line = { .line = python_line(code->minor, table, code->table_len,
						 code->first_line,
						 (int64_t)at - code->instructions) };
	struct location l = { .lines = &line, .line_count = 1 };

	if (!code->function)
		declare(c, code);
	line.function = code->function;
	l.mapping = code->mapping;
	return profile_add_location(c->profile, &l);
}

uint32_t codes_locate(struct codes *c, const struct python_frame *f)
{
	uint32_t row = map_get(&c->by_id, f->id), *location;

	if (row == MAP_NONE)
		return profile_name_location(c->profile, UNKNOWN, sizeof UNKNOWN - 1);
	location = map_at(&c->lines, map_pair(row, (uint32_t)f->at));
	if (!location) {
		profile_fail_nomem(c->profile);
		return 0;
	}
	if (*location == MAP_NONE)
		*location = make_location(c, (struct code *)c->rows.data + row, f->at);
	return *location;
}

size_t codes_count(const struct codes *c)
{
	return c->rows.count;
}
