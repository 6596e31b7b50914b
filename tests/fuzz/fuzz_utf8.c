/* SPDX-License-Identifier: MIT */
/* What utf8 makes of any bytes can be shown, and what it made once it leaves alone. */
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "fuzz.h"

static void check_same(const struct buf *a, const struct buf *b)
{
	FUZZ_CHECK(buf_error(a) == 0 && buf_error(b) == 0);
	FUZZ_CHECK(a->len == b->len);
	FUZZ_CHECK(!a->len || memcmp(a->data, b->data, a->len) == 0);
}

static void check_characters(const struct buf *text, bool is_visible)
{
	size_t step;

	for (size_t at = 0; at < text->len; at += step) {
		int32_t character = utf8_decode(text->data + at, text->len - at, &step);

		FUZZ_CHECK(character != UTF8_BAD && character != 0);
		FUZZ_CHECK(step > 0 && step <= text->len - at);
		if (is_visible)
			FUZZ_CHECK(character >= ' ' && (character < 0x7f || character > 0x9f));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf visible = { 0 }, valid = { 0 }, again = { 0 };
	const char *text = (const char *)data;
	size_t width, columns = size / 2, fits;

	utf8_put_visible(&visible, text, size);
	utf8_put_valid(&valid, text, size);
	check_characters(&visible, true);
	check_characters(&valid, false);
	utf8_put_visible(&again, visible.data, visible.len);
	check_same(&visible, &again);
	buf_clear(&again);
	utf8_put_valid(&again, valid.data, valid.len);
	check_same(&valid, &again);

	width = utf8_text_width(visible.data, visible.len);
	fits = utf8_fit(visible.data, visible.len, columns);
	FUZZ_CHECK(width <= visible.len && fits <= visible.len);
	FUZZ_CHECK(utf8_text_width(visible.data, fits) <= columns);
	FUZZ_CHECK(fits == visible.len || width > columns);
	return 0;
}
