/* SPDX-License-Identifier: MIT */
#include "view/script_lines.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/number.h"
#include "model/script_frames.h"

/* With or without what the C library puts in front of and behind the names: its variants for
 * processors. */
static bool is_copy_name(const char *name)
{
	static const char *const copies[] = { "memcpy", "memmove", "mempcpy", "wmemcpy",
					      "wmemmove" };

	name += strspn(name, "_");
	for (size_t i = 0; i < ARRAY_LEN(copies); i++) {
		size_t len = strlen(copies[i]);

		if (strncmp(name, copies[i], len) == 0 && (!name[len] || strchr("_@.", name[len])))
			return true;
	}
	return false;
}

static bool is_copy(const struct profile *p, uint32_t location)
{
	struct location l = profile_get_location(p, location);

	return l.line_count &&
	       is_copy_name(profile_text(p, profile_get_function(p, l.lines[0].function)->name));
}

static int add(struct script_lines *to, int64_t line, const struct script_line *values)
{
	uint32_t *index = map_at(&to->by_line, (uint64_t)line);
	struct script_line *row;

	if (!index)
		return -ENOMEM;
	if (*index == MAP_NONE) {
		if (!rows_add(&to->rows, sizeof *row))
			return -ENOMEM;
		*index = (uint32_t)to->rows.count - 1;
	}
	row = (struct script_line *)to->rows.data + *index;
	number_add(&row->own, values->own);
	number_add(&row->native, values->native);
	number_add(&row->copy, values->copy);
	return 0;
}

static int add_sample(struct script_lines *to, const struct profile *p, const struct sample *s,
		      int64_t value, uint32_t file)
{
	bool copies = false;

	for (uint32_t node = s->node; node;) {
		struct stack_node at = profile_get_node(p, node);
		struct location l;

		if (profile_is_script(p, at.location)) {
			bool is_own = node == s->node;

			l = profile_get_location(p, at.location);
			if (profile_get_function(p, l.lines[0].function)->file != file)
				return 0;
			return add(to, l.lines[0].line,
				   &(struct script_line){ .own = is_own ? value : 0,
							  .native = is_own ? 0 : value,
							  .copy = copies ? value : 0 });
		}
		copies |= is_copy(p, at.location);
		node = at.parent;
	}
	return 0;
}

int script_lines_collect(struct script_lines *ret, const struct profile *p, size_t type,
			 uint32_t file, struct err *e)
{
	*ret = (struct script_lines){ 0 };
	for (size_t i = 0; file && i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);

		if (s.values[type] && add_sample(ret, p, &s, s.values[type], file) < 0) {
			script_lines_fini(ret);
			return err_nomem(e);
		}
	}
	return 0;
}

void script_lines_fini(struct script_lines *l)
{
	rows_fini(&l->rows);
	map_fini(&l->by_line);
	*l = (struct script_lines){ 0 };
}

struct script_line script_lines_find(const struct script_lines *l, int64_t line)
{
	uint32_t index = map_get(&l->by_line, (uint64_t)line);

	if (index == MAP_NONE)
		return (struct script_line){ 0 };
	return ((const struct script_line *)l->rows.data)[index];
}
