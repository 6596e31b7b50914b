/* SPDX-License-Identifier: MIT */
#include "model/profile_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t profile_add_mapping(struct profile *p, const struct mapping *m)
{
	const uint64_t key[] = { m->start, m->limit, m->offset, map_pair(m->path, m->build_id) };
	void *new;
	uint32_t id = profile_intern(p, p->mapping_keys, &p->mappings, sizeof(struct mapping), key,
				     sizeof key, &new);
	struct mapping *row = (struct mapping *)p->mappings.data + id;

	if (new) {
		*row = *m;
	} else if (id) {
		row->has_functions |= m->has_functions;
		row->has_filenames |= m->has_filenames;
		row->has_line_numbers |= m->has_line_numbers;
		row->has_inline_frames |= m->has_inline_frames;
	}
	return id;
}

size_t profile_mapping_count(const struct profile *p)
{
	return p->mappings.count;
}

const struct mapping *profile_get_mapping(const struct profile *p, uint32_t id)
{
	return (const struct mapping *)p->mappings.data + id;
}

void profile_set_mapping(struct profile *p, uint32_t id, const struct mapping *m)
{
	((struct mapping *)p->mappings.data)[id] = *m;
}

uint32_t profile_add_function(struct profile *p, const struct function *f)
{
	const uint64_t key[] = { map_pair(f->name, f->system_name), f->file,
				 (uint64_t)f->start_line };
	void *new;
	uint32_t id = profile_intern(p, p->function_keys, &p->functions, sizeof(struct function),
				     key, sizeof key, &new);

	if (new)
		*(struct function *)new = *f;
	return id;
}

size_t profile_function_count(const struct profile *p)
{
	return p->functions.count;
}

const struct function *profile_get_function(const struct profile *p, uint32_t id)
{
	return (const struct function *)p->functions.data + id;
}

static uint32_t add_lines(struct profile *p, const struct line *lines, uint32_t count)
{
	size_t first = p->lines.count;
	struct line *rows;

	if (!count)
		return 0;
	rows = profile_add_rows(p, &p->lines, sizeof(struct line), count);
	if (!rows)
		return 0;
	memcpy(rows, lines, count * sizeof *lines);
	return (uint32_t)first;
}

uint32_t profile_add_location(struct profile *p, const struct location *l)
{
	enum { HEAD_WORDS = 2, SHORT_LINES = 6 };
	uint64_t short_key[HEAD_WORDS + 2 * SHORT_LINES], *key = short_key;
	size_t words = HEAD_WORDS + 2 * (size_t)l->line_count;
	uint32_t id = 0;
	void *new;

	if (l->line_count > SHORT_LINES)
		key = reallocarray(NULL, words, sizeof *key);
	if (!key) {
		profile_fail(p, -ENOMEM);
		return 0;
	}
	key[0] = l->address;
	key[1] = (uint64_t)l->mapping << 1 | l->is_folded;
	for (uint32_t i = 0; i < l->line_count; i++) {
		key[HEAD_WORDS + 2 * i] = l->lines[i].function;
		key[HEAD_WORDS + 2 * i + 1] = (uint64_t)l->lines[i].line;
	}
	id = profile_intern(p, p->location_keys, &p->locations, sizeof(struct location_row), key,
			    words * sizeof *key, &new);
	if (new)
		*(struct location_row *)new = (struct location_row){
			.address = l->address,
			.mapping = l->mapping,
			.first_line = add_lines(p, l->lines, l->line_count),
			.line_count = l->line_count,
			.is_folded = l->is_folded,
		};
	if (key != short_key)
		free(key);
	return p->error ? 0 : id;
}

size_t profile_location_count(const struct profile *p)
{
	return p->locations.count;
}

struct location profile_get_location(const struct profile *p, uint32_t id)
{
	const struct location_row *row = (const struct location_row *)p->locations.data + id;

	return (struct location){
		.mapping = row->mapping,
		.address = row->address,
		.lines = row->line_count ? (const struct line *)p->lines.data + row->first_line
					 : NULL,
		.line_count = row->line_count,
		.is_folded = row->is_folded,
	};
}

void profile_set_lines(struct profile *p, uint32_t id, const struct line *lines, uint32_t count)
{
	uint32_t first = add_lines(p, lines, count);
	struct location_row *row = (struct location_row *)p->locations.data + id;

	if (p->error)
		return;
	row->first_line = first;
	row->line_count = count;
}

void profile_set_location_mapping(struct profile *p, uint32_t id, uint32_t mapping)
{
	((struct location_row *)p->locations.data)[id].mapping = mapping;
}

uint32_t profile_name_location(struct profile *p, const char *name, size_t len)
{
	uint32_t str = profile_str_n(p, name, len);
	struct line line = {
		.function = profile_add_function(
			p, &(struct function){ .name = str, .system_name = str }),
	};

	return profile_add_location(p, &(struct location){ .lines = &line, .line_count = 1 });
}
