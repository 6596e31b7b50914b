/* SPDX-License-Identifier: MIT */
#include "format/firefox/read_tables.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "format/firefox/columns.h"
#include "format/format.h"
#include "format/json_frames.h"

/* Columns that are read of each table; the older of two names fills the same cell. */
enum { STACK_PREFIX, STACK_FRAME };
static const char *const stack_names[] = { "prefix", "frame" };
enum { FRAME_FUNCTION, FRAME_LINE, FRAME_ADDRESS, FRAME_LOCATION };
static const char *const frame_names[] = { "func", "line", "address", "location" };
enum { FUNCTION_NAME, FUNCTION_FILE, FUNCTION_RESOURCE, FUNCTION_SOURCE };
static const char *const function_names[] = { "name", "fileName", "resource", "source" };
static const char *const resource_names[] = { "lib" };
static const char *const source_names[] = { "filename" };

struct builder {
	struct profile *p;
	const struct rows *libs;
	struct rows strings;   /* uint32_t, ids */
	struct rows locations; /* uint32_t, by frame */
	struct rows frames, functions, resources, sources;
	struct buf scratch;
};

static void builder_fini(struct builder *b)
{
	rows_fini(&b->strings);
	rows_fini(&b->locations);
	rows_fini(&b->frames);
	rows_fini(&b->functions);
	rows_fini(&b->resources);
	rows_fini(&b->sources);
	buf_fini(&b->scratch);
}

void firefox_stacks_fini(struct firefox_stacks *s)
{
	rows_fini(&s->nodes);
}

void firefox_places_note(struct firefox_places *places, const struct json_text *key, struct json *j)
{
	static const struct {
		const char *name;
		enum firefox_part part;
		char first;
	} parts[] = {
		{ "stringArray", FIREFOX_STRINGS, '[' },
		{ "stringTable", FIREFOX_STRINGS, '[' },
		{ "stackTable", FIREFOX_STACKS, '{' },
		{ "frameTable", FIREFOX_FRAMES, '{' },
		{ "funcTable", FIREFOX_FUNCTIONS, '{' },
		{ "resourceTable", FIREFOX_RESOURCES, '{' },
		{ "sources", FIREFOX_SOURCES, '{' },
	};
	char first = json_peek(j);

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (parts[i].first != first || !json_equals(key, parts[i].name))
			continue;
		places->at[parts[i].part] = *j;
		places->has[parts[i].part] = true;
	}
	json_skip(j);
}

static int add_id(struct rows *rows, uint32_t id)
{
	uint32_t *row = rows_add(rows, sizeof *row);

	if (!row)
		return -ENOMEM;
	*row = id;
	return 0;
}

static uint32_t get_id(const struct rows *rows, uint32_t index)
{
	return index < rows->count ? ((const uint32_t *)rows->data)[index] : 0;
}

static int read_strings(struct builder *b, struct json j)
{
	struct json_list a = json_array(&j);

	while (json_item(&j, &a)) {
		struct json_text text = { 0 };

		if (json_peek(&j) == '"')
			text = json_string(&j);
		else
			json_skip(&j);
		if (add_id(&b->strings, json_frames_str(b->p, text, &b->scratch)) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* "read (in libc.so.6)" of a gecko profile, as perf writes it: without the file. */
static uint32_t gecko_name(struct builder *b, uint32_t string)
{
	struct str text = profile_get_str(b->p, string);
	const char *at = NULL;

	if (str_ends_with(text, ")"))
		at = memmem(text.ptr, text.len, " (in ", 5);
	return at ? profile_str_n(b->p, text.ptr, (size_t)(at - text.ptr)) : string;
}

/* A library whose functions are not looked for here: the file's own names count. */
static uint32_t add_mapping(struct builder *b, uint32_t resource)
{
	uint32_t index = columns_get(&b->resources, resource).cells[0];
	const struct firefox_lib *lib = b->libs->data;
	struct mapping m = { .limit = UINT64_MAX, .has_functions = true };

	if (index >= b->libs->count || !lib[index].path)
		return 0;
	m.path = lib[index].path;
	m.build_id = lib[index].build_id;
	return profile_add_mapping(b->p, &m);
}

static uint32_t add_location(struct builder *b, struct columns_row frame)
{
	struct columns_row function = columns_get(&b->functions, frame.cells[FRAME_FUNCTION]);
	uint32_t source = columns_get(&b->sources, function.cells[FUNCTION_SOURCE]).cells[0];
	uint32_t name = get_id(&b->strings, function.cells[FUNCTION_NAME]);
	uint32_t address = frame.cells[FRAME_ADDRESS], line_number = frame.cells[FRAME_LINE];
	struct function f = { .file = get_id(&b->strings, function.cells[FUNCTION_FILE]) };
	struct location l = { .line_count = 1 };
	struct line line = { 0 };

	if (source != COLUMNS_NONE)
		f.file = get_id(&b->strings, source);
	if (frame.cells[FRAME_LOCATION] != COLUMNS_NONE)
		name = gecko_name(b, get_id(&b->strings, frame.cells[FRAME_LOCATION]));
	f.name = f.system_name = name ? name : profile_str(b->p, "(anonymous)");
	line.function = profile_add_function(b->p, &f);
	line.line = f.file && line_number != COLUMNS_NONE ? line_number : 0;
	l.lines = &line;
	if (address && address != COLUMNS_NONE)
		l.mapping = add_mapping(b, function.cells[FUNCTION_RESOURCE]);
	l.address = l.mapping ? address : 0;
	return profile_add_location(b->p, &l);
}

static int read_tables(struct builder *b, const struct firefox_places *places, struct err *e)
{
	const struct {
		enum firefox_part part;
		const char *const *names;
		size_t count;
		struct rows *rows;
	} tables[] = {
		{ FIREFOX_FRAMES, frame_names, ARRAY_LEN(frame_names), &b->frames },
		{ FIREFOX_FUNCTIONS, function_names, ARRAY_LEN(function_names), &b->functions },
		{ FIREFOX_RESOURCES, resource_names, ARRAY_LEN(resource_names), &b->resources },
		{ FIREFOX_SOURCES, source_names, ARRAY_LEN(source_names), &b->sources },
	};

	if (places->has[FIREFOX_STRINGS] && read_strings(b, places->at[FIREFOX_STRINGS]) < 0)
		return err_nomem(e);
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		int rc = 0;

		if (places->has[tables[i].part])
			rc = columns_read(places->at[tables[i].part], tables[i].names,
					  tables[i].count, tables[i].rows, e);
		if (rc < 0)
			return rc;
	}
	for (uint32_t i = 0; i < b->frames.count; i++)
		if (add_id(&b->locations, add_location(b, columns_get(&b->frames, i))) < 0)
			return err_nomem(e);
	return profile_check(b->p, e);
}

/* A stack comes behind the one that it goes on from. */
static int push_stacks(struct builder *b, const struct rows *stacks, struct rows *nodes,
		       struct err *e)
{
	CLEANUP(rows_fini) struct rows depths = { 0 }; /* uint32_t */

	for (uint32_t i = 0; i < stacks->count; i++) {
		struct columns_row row = columns_get(stacks, i);
		uint32_t prefix = row.cells[STACK_PREFIX];
		uint32_t location = get_id(&b->locations, row.cells[STACK_FRAME]);
		uint32_t depth = prefix < i ? get_id(&depths, prefix) + 1 : 1;

		if (prefix != COLUMNS_NONE && prefix >= i)
			return err_set(e, -EINVAL, "stack %u goes on from stack %u", i, prefix);
		if (!location)
			return err_set(e, -EINVAL, "stack %u has no frame", i);
		if (depth > FORMAT_MAX_DEPTH)
			return err_set(e, -EINVAL, "stack of more than %d frames",
				       FORMAT_MAX_DEPTH);
		if (add_id(&depths, depth) < 0 ||
		    add_id(nodes, profile_push(b->p, get_id(nodes, prefix), location)) < 0)
			return err_nomem(e);
	}
	return profile_check(b->p, e);
}

int firefox_stacks_read(struct firefox_stacks *s, struct profile *p,
			const struct firefox_places *own, const struct firefox_places *shared,
			const struct rows *libs, struct err *e)
{
	CLEANUP(builder_fini) struct builder b = { .p = p, .libs = libs };
	CLEANUP(rows_fini) struct rows stacks = { 0 };
	struct firefox_places places = *own;
	int rc;

	for (size_t i = 0; i < FIREFOX_PARTS; i++) {
		if (places.has[i] || !shared->has[i])
			continue;
		places.at[i] = shared->at[i];
		places.has[i] = true;
	}
	s->nodes.count = 0;
	rc = read_tables(&b, &places, e);
	if (rc == 0 && places.has[FIREFOX_STACKS])
		rc = columns_read(places.at[FIREFOX_STACKS], stack_names, ARRAY_LEN(stack_names),
				  &stacks, e);
	return rc < 0 ? rc : push_stacks(&b, &stacks, &s->nodes, e);
}
