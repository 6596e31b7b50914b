/* SPDX-License-Identifier: MIT */
#include "symbol/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/number.h"
#include "base/str.h"
#include "symbol/elf/opener.h"

#define STEP ((size_t)32 * 1024)

int text_read(int fd, const char *path, size_t limit, struct buf *ret, struct err *e)
{
	while (ret->len <= limit) {
		char *room = buf_reserve(ret, STEP);
		ssize_t n;

		if (!room)
			return err_nomem(e);
		n = read(fd, room, STEP);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "%s", path);
		if (n == 0)
			return 0;
		buf_grew(ret, (size_t)n);
	}
	ret->len = limit;
	buf_grew(ret, 0); /* the NUL */
	return 1;
}

int text_load(const char *path, const struct text_rules *rules, struct buf *ret, struct err *e)
{
	CLEANUP(fd_close)
	int fd = opener_open(path, rules->is_own ? OPENER_OWN_TEXT : OPENER_TEXT, e);

	return fd < 0 ? fd : text_read(fd, path, rules->limit, ret, e);
}

char *text_line(struct buf *text, size_t *at)
{
	char *line = text->data + *at, *newline;

	if (*at >= text->len)
		return NULL;
	newline = memchr(line, '\n', text->len - *at);
	if (newline)
		*newline = '\0';
	*at = newline ? (size_t)(newline - text->data) + 1 : text->len;
	return line;
}

bool text_hex(char **at, uint64_t *ret)
{
	bool has_prefix = text_starts_with(*at, "0x") || text_starts_with(*at, "0X");
	const char *digits = *at + (has_prefix ? 2 : 0);
	size_t count = number_parse_hex(digits, strlen(digits), ret);

	if (!count || digits[count] != ' ')
		return false;
	*at += (has_prefix ? 2 : 0) + count + 1;
	return true;
}
