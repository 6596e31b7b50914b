/* SPDX-License-Identifier: MIT */
#include "heap/scripts.h"

#include <stdlib.h>
#include <string.h>

#include "interp/merge.h"
#include "interp/python_file.h"

#define FILES_MAX 64 /* with a mapping in a stack of a script; others have no interpreter */

bool scripts_has(const struct heap_image *h, uint32_t node)
{
	uint32_t mapping = h->nodes[node].mapping;

	return node && mapping != HEAP_NO_MAPPING && h->mappings[mapping].is_script;
}

/* NULL: it has no interpreter, or there is no memory. */
static const struct python_file_info *file_of(struct scripts *s, uint32_t mapping)
{
	const struct heap_mapping *m = &s->image->mappings[mapping];
	uint32_t *index = map_at(&s->by_mapping, mapping);
	struct python_file_info **row;

	if (index && *index != MAP_NONE)
		return ((struct python_file_info **)s->files.data)[*index];
	if (s->files.count == FILES_MAX)
		return NULL;
	row = index ? rows_add(&s->files, sizeof *row) : NULL;
	if (!row) {
		s->is_bad = true;
		return NULL;
	}
	*index = (uint32_t)s->files.count - 1;
	*row = calloc(1, sizeof **row);
	if (*row)
		python_file_read(heap_image_string(s->image, m->path), *row);
	else
		s->is_bad = true;
	return *row;
}

static enum interp_kind kind_of(struct scripts *s, const struct heap_node *n)
{
	const struct python_file_info *info;
	struct interp_file file;
	const struct heap_mapping *m;

	if (n->mapping == HEAP_NO_MAPPING)
		return INTERP_OTHER;
	m = &s->image->mappings[n->mapping];
	info = m->has_bias || m->build_id_len ? file_of(s, n->mapping) : NULL;
	if (!info || !info->runtime)
		return INTERP_OTHER;
	file = (struct interp_file){ (struct interp_range *)(uintptr_t)info->ranges,
				     info->range_count };
	return interp_kind_of(&file, n->address - m->bias);
}

static uint32_t locate(struct scripts *s, const struct heap_node *n)
{
	const struct heap_mapping *from = &s->image->mappings[n->mapping];
	struct mapping m = { .has_functions = true,
			     .has_filenames = true,
			     .has_line_numbers = true,
			     .has_inline_frames = true };
	struct function f = { .start_line = (int64_t)(from->offset & INT32_MAX) };
	struct line line = { .line = (int64_t)(n->address & INT32_MAX) };
	struct location l = { .lines = &line, .line_count = 1 };

	f.name = f.system_name =
		profile_str(s->profile, heap_image_string(s->image, from->function));
	f.file = m.path = profile_str(s->profile, heap_image_string(s->image, from->path));
	line.function = profile_add_function(s->profile, &f);
	l.mapping = profile_add_mapping(s->profile, &m);
	return profile_add_location(s->profile, &l);
}

static void add_frame(struct scripts *s, const struct heap_node *n)
{
	struct interp_frame *f = rows_add(&s->frames, sizeof *f);

	if (f)
		*f = (struct interp_frame){ locate(s, n), n->address & HEAP_SCRIPT_ENTRY };
	else
		s->is_bad = true;
}

static void add_native(struct scripts *s, uint32_t node)
{
	uint8_t *kind = rows_add(&s->kinds, sizeof *kind);
	uint32_t *number = rows_add(&s->nodes, sizeof *number);

	if (!kind || !number) {
		s->is_bad = true;
		return;
	}
	*kind = (uint8_t)kind_of(s, &s->image->nodes[node]);
	*number = node;
}

static size_t count_loops(const struct scripts *s)
{
	const uint8_t *kinds = s->kinds.data;
	size_t n = 0;

	for (size_t i = 0; i < s->kinds.count; i++)
		n += kinds[i] == INTERP_EVAL;
	return n;
}

static size_t count_segments(const struct scripts *s)
{
	const struct interp_frame *frames = s->frames.data;
	size_t n = 0;

	for (size_t i = 0; i < s->frames.count; i++)
		n += frames[i].is_entry || i + 1 == s->frames.count;
	return n;
}

uint32_t scripts_push(struct scripts *s, uint32_t node)
{
	struct interp_stack stack;
	enum interp_fit fit;
	const struct interp_item *items;
	uint32_t to = 0;

	s->kinds.count = s->nodes.count = s->frames.count = s->items.count = 0;
	for (; node; node = s->image->nodes[node].parent)
		if (scripts_has(s->image, node))
			add_frame(s, &s->image->nodes[node]);
		else
			add_native(s, node);
	stack = (struct interp_stack){ .frames = s->frames.data, .count = s->frames.count };
	if (s->is_bad ||
	    interp_merge(s->kinds.data, s->kinds.count, count_loops(s) >= count_segments(s), &stack,
			 false, &s->items, &fit) < 0) {
		s->is_bad = true;
		return 0;
	}
	items = s->items.data;
	for (size_t i = s->items.count; i-- > 0;)
		to = profile_push(
			s->profile, to,
			items[i].is_interp
				? stack.frames[items[i].index].location
				: s->natives[((uint32_t *)s->nodes.data)[items[i].index]]);
	return to;
}

void scripts_fini(struct scripts *s)
{
	struct python_file_info **files = s->files.data;

	for (size_t i = 0; i < s->files.count; i++)
		free(files[i]);
	rows_fini(&s->files);
	map_fini(&s->by_mapping);
	rows_fini(&s->kinds);
	rows_fini(&s->nodes);
	rows_fini(&s->frames);
	rows_fini(&s->items);
}
