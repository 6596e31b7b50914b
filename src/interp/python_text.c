/* SPDX-License-Identifier: MIT */
#include "interp/python_text.h"

#include <stdint.h>

#include "base/cursor.h"
#include "base/utf8.h"

#define REPLACEMENT 0xfffd

void python_text_put(struct buf *out, const char *bytes, size_t len, unsigned width, bool is_cut)
{
	struct cursor c = cursor_make(bytes, len);

	while (width && cursor_left(&c) >= width) {
		uint32_t character = width == 1   ? cursor_u8(&c)
				     : width == 2 ? cursor_u16(&c)
						  : cursor_u32(&c);

		utf8_put(out,
			 character && character <= 0x10ffff ? (int32_t)character : REPLACEMENT);
	}
	if (is_cut)
		buf_put_str(out, "...");
}
