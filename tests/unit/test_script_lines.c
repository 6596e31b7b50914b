/* SPDX-License-Identifier: MIT */
#include "view/script_lines.h"

#include "tap.h"

static uint32_t script(struct profile *p, const char *file, int64_t number)
{
	uint32_t path = profile_str(p, file);
	struct line line = { .line = number,
			     .function = profile_add_function(
				     p, &(struct function){ .name = profile_str(p, "work"),
							    .file = path }) };
	uint32_t mapping = profile_add_mapping(p, &(struct mapping){ .path = path });

	return profile_add_location(
		p, &(struct location){ .mapping = mapping, .lines = &line, .line_count = 1 });
}

static uint32_t native(struct profile *p, const char *name)
{
	return profile_name_location(p, name, strlen(name));
}

/* Line 3 of a.py: 1 itself, 2 in list_sort, 4 in a copy with the kernel below it, 8 in b.py that
 * it calls, 16 in a function whose name only begins like a copy; 32 outside of any script. */
static struct profile *example(void)
{
	static const char copy[] = "__memmove_avx_unaligned_erms";
	struct profile *p = profile_new();
	uint32_t root, line, node;

	profile_add_type(p, "cpu", "nanoseconds");
	root = profile_push(p, 0, native(p, "main"));
	line = profile_push(p, root, script(p, "a.py", 3));
	profile_add(p, line, 0, (int64_t[]){ 1 });
	profile_add(p, profile_push(p, line, native(p, "list_sort")), 0, (int64_t[]){ 2 });
	node = profile_push(p, profile_push(p, line, native(p, copy)), native(p, "page_fault"));
	profile_add(p, node, 0, (int64_t[]){ 4 });
	node = profile_push(p, profile_push(p, line, native(p, "call")), script(p, "b.py", 3));
	profile_add(p, node, 0, (int64_t[]){ 8 });
	profile_add(p, profile_push(p, line, native(p, "memcpyish")), 0, (int64_t[]){ 16 });
	profile_add(p, root, 0, (int64_t[]){ 32 });
	return p;
}

static void test_parts(void)
{
	static const struct {
		const char *file;
		int64_t line, own, native, copy;
	} rows[] = {
		{ "a.py", 3, 1, 22, 4 },
		{ "a.py", 4, 0, 0, 0 },
		{ "b.py", 3, 8, 0, 0 },
		{ "c.py", 3, 0, 0, 0 },
	};
	struct profile *p = example();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct script_lines lines;
		struct script_line got;
		struct err e;

		if (!CHECK_INT(script_lines_collect(&lines, p, 0, profile_find_str(p, rows[i].file),
						    &e),
			       0))
			continue;
		got = script_lines_find(&lines, rows[i].line);
		CHECK_INT(got.own, rows[i].own);
		CHECK_INT(got.native, rows[i].native);
		CHECK_INT(got.copy, rows[i].copy);
		script_lines_fini(&lines);
	}
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_parts);
	return tap_done();
}
