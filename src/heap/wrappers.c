/* SPDX-License-Identifier: MIT */
#include "heap/wrappers.h"

#include "base/cursor.h"

/* data/heap/wrappers.txt, embedded by tools/embed.py */
extern const char heap_wrappers[];
extern const size_t heap_wrappers_len;

void wrappers_put_pattern(struct buf *out)
{
	struct cursor lines = cursor_make(heap_wrappers, heap_wrappers_len);
	const char *line, *bar = "";
	size_t len;

	while (cursor_line(&lines, &line, &len)) {
		if (!len || line[0] == '#')
			continue;
		buf_put_str(out, bar);
		buf_put(out, line, len);
		bar = "|";
	}
}
