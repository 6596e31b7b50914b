/* SPDX-License-Identifier: MIT */
#include "format/firefox/tables.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "base/quote.h"
#include "format/format.h"
#include "format/frame.h"

#define ABSENT INT64_MIN /* null in JSON */

/* Columns of the tables. */
enum { RESOURCE_LIBRARY, RESOURCE_NAME, RESOURCE_COLUMNS };
enum { FUNCTION_NAME, FUNCTION_RESOURCE, FUNCTION_FILE, FUNCTION_LINE, FUNCTION_COLUMNS };
enum { FRAME_FUNCTION, FRAME_LINE, FRAME_DEPTH, FRAME_CATEGORY, FRAME_COLUMNS };
enum { STACK_PREFIX, STACK_FRAME, STACK_COLUMNS };

int firefox_tables_init(struct firefox_tables *t, const struct profile *p,
			const uint32_t *libraries)
{
	*t = (struct firefox_tables){ .p = p, .libraries = libraries };
	t->strings = strtab_new();
	t->resources = strtab_new();
	t->functions = strtab_new();
	t->frames = strtab_new();
	t->stacks = strtab_new();
	return t->strings && t->resources && t->functions && t->frames && t->stacks ? 0 : -ENOMEM;
}

void firefox_tables_fini(struct firefox_tables *t)
{
	strtab_free(t->strings);
	strtab_free(t->resources);
	strtab_free(t->functions);
	strtab_free(t->frames);
	strtab_free(t->stacks);
	map_fini(&t->nodes);
	rows_fini(&t->pending);
	buf_fini(&t->name);
}

static int add_row(struct strtab *table, const int64_t *row, size_t columns, int64_t *ret)
{
	uint32_t id = strtab_intern(table, row, columns * sizeof *row);

	if (id == STRTAB_NONE)
		return -ENOMEM;
	*ret = id;
	return 0;
}

static int add_string(struct firefox_tables *t, const char *text, size_t len, int64_t *ret)
{
	uint32_t id = strtab_intern(t->strings, text, len);

	if (id == STRTAB_NONE)
		return -ENOMEM;
	*ret = id;
	return 0;
}

/* -1 for code of no file. */
static int add_resource(struct firefox_tables *t, uint32_t mapping, int64_t *ret)
{
	const char *name = path_base(profile_text(t->p, profile_get_mapping(t->p, mapping)->path));
	int64_t row[RESOURCE_COLUMNS];
	int rc;

	*ret = -1;
	if (t->libraries[mapping] == STRTAB_NONE)
		return 0;
	row[RESOURCE_LIBRARY] = t->libraries[mapping];
	rc = add_string(t, name, strlen(name), &row[RESOURCE_NAME]);
	return rc < 0 ? rc : add_row(t->resources, row, RESOURCE_COLUMNS, ret);
}

/* l NULL: the frame of no stack. */
static int add_function(struct firefox_tables *t, const struct location *l, uint32_t line,
			int64_t *ret)
{
	struct function fn = { 0 };
	int64_t row[FUNCTION_COLUMNS] = { 0, -1, ABSENT, ABSENT };
	struct str file;
	int rc = 0;

	buf_clear(&t->name);
	if (l)
		frame_put_name(t->p, l, line, &t->name);
	else
		buf_put_str(&t->name, FORMAT_NO_STACK);
	if (buf_error(&t->name) < 0)
		return -ENOMEM;
	rc = add_string(t, t->name.data, t->name.len, &row[FUNCTION_NAME]);
	if (l && line < l->line_count)
		fn = *profile_get_function(t->p, l->lines[line].function);
	file = profile_get_str(t->p, fn.file);
	if (rc == 0 && fn.file)
		rc = add_string(t, file.ptr, file.len, &row[FUNCTION_FILE]);
	if (rc == 0 && l)
		rc = add_resource(t, l->mapping, &row[FUNCTION_RESOURCE]);
	if (fn.start_line > 0)
		row[FUNCTION_LINE] = fn.start_line;
	return rc < 0 ? rc : add_row(t->functions, row, FUNCTION_COLUMNS, ret);
}

static enum firefox_category category_of(const struct firefox_tables *t, const struct location *l)
{
	const char *path = profile_text(t->p, profile_get_mapping(t->p, l->mapping)->path);
	size_t len = strlen(path);

	if (strncmp(path, "[kernel", strlen("[kernel")) == 0 || l->address >> 63 ||
	    (len > 3 && strcmp(path + len - 3, ".ko") == 0))
		return FIREFOX_KERNEL;
	return *path ? FIREFOX_USER : FIREFOX_OTHER;
}

/* The frame of a line on top of *stack. */
static int push_line(struct firefox_tables *t, const struct location *l, uint32_t line,
		     int64_t *stack)
{
	int64_t frame[FRAME_COLUMNS] = { 0, ABSENT, 0, l ? category_of(t, l) : FIREFOX_OTHER };
	int64_t row[STACK_COLUMNS] = { *stack, 0 };
	int rc = add_function(t, l, line, &frame[FRAME_FUNCTION]);

	if (l && line < l->line_count) {
		frame[FRAME_DEPTH] = l->line_count - 1 - line;
		if (l->lines[line].line > 0)
			frame[FRAME_LINE] = l->lines[line].line;
	}
	if (rc == 0)
		rc = add_row(t->frames, frame, FRAME_COLUMNS, &row[STACK_FRAME]);
	return rc < 0 ? rc : add_row(t->stacks, row, STACK_COLUMNS, stack);
}

static int push_location(struct firefox_tables *t, uint32_t id, int64_t *stack)
{
	struct location l = profile_get_location(t->p, id);
	int rc = l.line_count ? 0 : push_line(t, &l, 0, stack);

	for (uint32_t i = l.line_count; i-- > 0 && rc == 0;)
		rc = push_line(t, &l, i, stack);
	return rc;
}

int firefox_find_stack(struct firefox_tables *t, uint32_t node, uint32_t *ret)
{
	uint32_t *pending, known = MAP_NONE;
	int64_t stack = ABSENT;
	int rc = node ? 0 : push_line(t, NULL, 0, &stack);

	t->pending.count = 0;
	while (node && (known = map_get(&t->nodes, node)) == MAP_NONE) {
		pending = rows_add(&t->pending, sizeof *pending);
		if (!pending)
			return -ENOMEM;
		*pending = node;
		node = profile_get_node(t->p, node).parent;
	}
	if (node)
		stack = known;
	for (size_t i = t->pending.count; i-- > 0 && rc == 0;) {
		node = ((uint32_t *)t->pending.data)[i];
		rc = push_location(t, profile_get_node(t->p, node).location, &stack);
		if (rc == 0)
			rc = map_put(&t->nodes, node, (uint32_t)stack);
	}
	*ret = (uint32_t)stack;
	return rc;
}

/* One column of a table: column >= 0: of its rows; else the same text in every row. */
struct column {
	const char *key;
	int column;
	const char *text;
};
#define SAME(text) -1, text

static void put_cell(struct buf *out, const struct str *row, const struct column *c)
{
	int64_t value;

	if (c->column < 0) {
		buf_put_str(out, c->text);
		return;
	}
	memcpy(&value, row->ptr + (size_t)c->column * sizeof value, sizeof value);
	if (value == ABSENT)
		buf_put_str(out, "null");
	else
		buf_put_int(out, value);
}

static void put_table(struct buf *out, const char *key, const struct strtab *table,
		      const struct column *columns, size_t count)
{
	size_t rows = strtab_count(table);

	buf_printf(out, "\"%s\":{\"length\":%zu", key, rows);
	for (size_t i = 0; i < count; i++) {
		buf_printf(out, ",\n\"%s\":[", columns[i].key);
		for (uint32_t row = 0; row < rows; row++) {
			struct str bytes = strtab_get(table, row);

			buf_put_str(out, row ? "," : "");
			put_cell(out, &bytes, &columns[i]);
		}
		buf_put_byte(out, ']');
	}
	buf_put_str(out, "},\n");
}

static void put_strings(const struct firefox_tables *t, struct buf *out)
{
	buf_put_str(out, "\"stringArray\":[");
	for (uint32_t i = 0; i < strtab_count(t->strings); i++) {
		struct str text = strtab_get(t->strings, i);

		buf_put_str(out, i ? ",\n" : "");
		quote_json(out, text.ptr, text.len);
	}
	buf_put_byte(out, ']');
}

void firefox_put_tables(const struct firefox_tables *t, struct buf *out)
{
	static const struct column stacks[] = {
		{ "prefix", STACK_PREFIX, NULL },
		{ "frame", STACK_FRAME, NULL },
	};
	static const struct column frames[] = {
		{ "address", SAME("-1") },
		{ "inlineDepth", FRAME_DEPTH, NULL },
		{ "category", FRAME_CATEGORY, NULL },
		{ "subcategory", SAME("0") },
		{ "func", FRAME_FUNCTION, NULL },
		{ "nativeSymbol", SAME("null") },
		{ "innerWindowID", SAME("0") },
		{ "line", FRAME_LINE, NULL },
		{ "column", SAME("null") },
	};
	static const struct column functions[] = {
		{ "name", FUNCTION_NAME, NULL },     { "isJS", SAME("false") },
		{ "relevantForJS", SAME("false") },  { "resource", FUNCTION_RESOURCE, NULL },
		{ "fileName", FUNCTION_FILE, NULL }, { "lineNumber", FUNCTION_LINE, NULL },
		{ "columnNumber", SAME("null") },
	};
	static const struct column resources[] = {
		{ "lib", RESOURCE_LIBRARY, NULL },
		{ "name", RESOURCE_NAME, NULL },
		{ "host", SAME("null") },
		{ "type", SAME("1") }, /* a library */
	};

	put_table(out, "stackTable", t->stacks, stacks, ARRAY_LEN(stacks));
	put_table(out, "frameTable", t->frames, frames, ARRAY_LEN(frames));
	put_table(out, "funcTable", t->functions, functions, ARRAY_LEN(functions));
	put_table(out, "resourceTable", t->resources, resources, ARRAY_LEN(resources));
	put_strings(t, out);
}
