/* SPDX-License-Identifier: MIT */
#include "view/markdown.h"

#include <stdbool.h>

#include "base/utf8.h"

/* The longest run of '`', which is also how many more mark the code. */
static size_t longest_run(const char *text, size_t len)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < len; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void put_marks(struct buf *out, size_t count)
{
	while (count--)
		buf_put_byte(out, '`');
}

void markdown_put_code(struct buf *out, const char *text, size_t len)
{
	CLEANUP(buf_fini) struct buf visible = { 0 };
	size_t marks;
	bool is_padded;

	utf8_put_visible(&visible, text, len);
	if (buf_error(&visible) < 0) {
		out->bad = true;
		return;
	}
	marks = longest_run(visible.data, visible.len) + 1;
	is_padded = marks > 1 || !visible.len;
	put_marks(out, marks);
	if (is_padded)
		buf_put_byte(out, ' ');
	for (size_t i = 0; i < visible.len; i++) {
		if (visible.data[i] == '|')
			buf_put_byte(out, '\\');
		buf_put_byte(out, (unsigned char)visible.data[i]);
	}
	if (is_padded && visible.len)
		buf_put_byte(out, ' ');
	put_marks(out, marks);
}
