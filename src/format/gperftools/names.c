/* SPDX-License-Identifier: MIT */
#include "format/gperftools/names.h"

#include <stdbool.h>
#include <string.h>

#include "format/format.h"
#include "format/frame.h"

static bool ends_in_hyphen(const struct buf *out)
{
	return out->len && out->data[out->len - 1] == '-';
}

static void put_name(const struct buf *name, struct buf *out)
{
	size_t from = 0, end = name->len;

	while (end && (unsigned char)name->data[end - 1] <= ' ')
		end--;
	while (from < end && (unsigned char)name->data[from] <= ' ')
		from++;
	if (from == end)
		buf_put_str(out, "[unknown]");
	for (; from < end; from++) {
		unsigned char c = (unsigned char)name->data[from];

		if (c == '-' && ends_in_hyphen(out))
			buf_put_byte(out, ' ');
		buf_put_byte(out, c < ' ' ? ' ' : c);
	}
}

static void put_line(const struct profile *p, const struct location *l, uint32_t line,
		     struct buf *out)
{
	CLEANUP(buf_fini) struct buf name = { 0 };

	frame_put_name(p, l, line, &name);
	put_name(&name, out);
	if (buf_error(&name) < 0)
		out->bad = true;
}

void gperftools_put_names(const struct profile *p, uint32_t location, struct buf *out)
{
	struct location l;

	if (location == profile_location_count(p)) {
		buf_put_str(out, FORMAT_NO_STACK);
		return;
	}
	l = profile_get_location(p, location);
	for (uint32_t i = l.line_count; i-- > 1;) {
		put_line(p, &l, i, out);
		buf_put_str(out, ends_in_hyphen(out) ? " --" : "--");
	}
	put_line(p, &l, 0, out);
}
