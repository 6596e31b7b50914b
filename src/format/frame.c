/* SPDX-License-Identifier: MIT */
#include "format/frame.h"

#include <string.h>

#include "base/path.h"

struct str frame_function_name(const struct profile *p, uint32_t function)
{
	const struct function *fn = profile_get_function(p, function);

	return profile_get_str(p, fn->name ? fn->name : fn->system_name);
}

void frame_put_module_name(const struct profile *p, uint32_t mapping, struct buf *out)
{
	const char *path = profile_text(p, profile_get_mapping(p, mapping)->path);
	const char *base = path_base(path);

	if (!*base)
		buf_put_str(out, "[unknown]");
	else if (*base == '[')
		buf_put_str(out, base);
	else
		buf_printf(out, "[%s]", base);
}

bool frame_has_name(const struct profile *p, const struct location *l, uint32_t line)
{
	return line < l->line_count && frame_function_name(p, l->lines[line].function).len;
}

void frame_put_name(const struct profile *p, const struct location *l, uint32_t line,
		    struct buf *out)
{
	struct str name;

	if (!frame_has_name(p, l, line)) {
		frame_put_module_name(p, l->mapping, out);
		return;
	}
	name = frame_function_name(p, l->lines[line].function);
	buf_put(out, name.ptr, name.len);
}
