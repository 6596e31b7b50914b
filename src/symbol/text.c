/* SPDX-License-Identifier: MIT */
#include "symbol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP ((size_t)256 * 1024)

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int text_load(const char *path, struct buf *ret, struct err *e)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%s: not a regular file", path);
	for (;;) {
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

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool text_hex(char **at, uint64_t *ret)
{
	char *c = *at;
	uint64_t value = 0;
	char *begin;

	if (c[0] == '0' && (c[1] == 'x' || c[1] == 'X'))
		c += 2;
	for (begin = c; hex_digit(*c) >= 0; c++) {
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)hex_digit(*c);
	}
	if (c == begin || *c != ' ')
		return false;
	*at = c + 1;
	*ret = value;
	return true;
}
