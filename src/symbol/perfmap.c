/* SPDX-License-Identifier: MIT */
#include "symbol/perfmap.h"

#include <stdlib.h>

#include "base/fd.h"
#include "symbol/elf/opener.h"
#include "symbol/jitdump.h"
#include "symbol/lookup/rangemap.h"
#include "symbol/text.h"

/* Adds the lines that matter. names: size_t, where in text the name of range i begins. */
static void read_lines(struct buf *text, struct rangemap *map, struct buf *names)
{
	size_t at = 0;
	char *line;

	while ((line = text_line(text, &at))) {
		uint64_t start, size, end;
		size_t name;

		if (!text_hex(&line, &start) || !text_hex(&line, &size) || !line[0] ||
		    __builtin_add_overflow(start, size, &end))
			continue;
		name = (size_t)(line - text->data);
		if (rangemap_add(map, start, end, (uint32_t)(names->len / sizeof name)))
			buf_put(names, &name, sizeof name);
	}
}

static int find_in_text(int fd, const char *path, const uint64_t *wanted, size_t count,
			struct buf *text, const char **ret, struct err *e)
{
	struct rangemap map = rangemap_make(wanted, count);
	uint32_t *which = calloc(count + 1, sizeof *which);
	struct buf names = { 0 };
	int rc = which ? text_read(fd, path, PERFMAP_MAX_BYTES, text, e) : err_nomem(e);

	if (rc >= 0)
		read_lines(text, &map, &names);
	if (rc >= 0 && (buf_error(&names) < 0 || rangemap_resolve(&map, which) < 0))
		rc = err_nomem(e);
	for (size_t i = 0; rc >= 0 && i < count; i++) {
		const size_t *list = (const void *)names.data;

		ret[i] = which[i] == RANGEMAP_NONE ? NULL : text->data + list[which[i]];
	}
	rangemap_fini(&map);
	buf_fini(&names);
	free(which);
	return rc;
}

int perfmap_find(const char *path, bool is_own, const uint64_t *wanted, size_t count,
		 struct buf *text, const char **ret, struct err *e)
{
	CLEANUP(fd_close)
	int fd = opener_open(path, is_own ? OPENER_OWN_TEXT : OPENER_TEXT, e);

	if (fd < 0)
		return fd;
	if (jitdump_detect(fd))
		return jitdump_find(fd, path, wanted, count, text, ret, e);
	return find_in_text(fd, path, wanted, count, text, ret, e);
}
