/* SPDX-License-Identifier: MIT */
#include "source/source_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/output/fsuser.h"

#define NO_GROUP 65534 /* that of the binary may be its folder's */

void source_lines_fini(struct source_lines *s)
{
	buf_fini(&s->text);
	free(s->lines);
	*s = (struct source_lines){ 0 };
}

/* What root owns is named by binaries that anybody's profile can name. */
static bool is_binary_of_other(const char *binary, uid_t *ret)
{
	struct stat owner;

	if (geteuid() != 0 || stat(binary, &owner) < 0 || !S_ISREG(owner.st_mode))
		return false;
	*ret = owner.st_uid;
	return owner.st_uid != 0;
}

static int open_source(const char *path, const char *binary, struct err *e)
{
	struct fsuser own, owner = { .gid = NO_GROUP };
	struct stat st;
	int fd;

	fsuser_read(&own);
	if (is_binary_of_other(binary, &owner.uid) && fsuser_enter(&owner, e) == 0) {
		fd = file_open_regular(path, 0, e);
		if (!fsuser_leave(&own) && fd >= 0)
			log_msg(LOG_WARN, "source", "cannot take our own rights again");
		return fd;
	}
	fd = file_open_regular(path, 0, e);
	if (fd < 0 || geteuid() != 0 || (fstat(fd, &st) == 0 && st.st_mode & S_IROTH))
		return fd;
	close(fd);
	return err_set(e, -EACCES, "%s: not readable by the owner of %s", path,
		       *binary ? binary : "the binary");
}

static int read_source(const char *path, const char *binary, struct buf *ret, struct err *e)
{
	CLEANUP(fd_close) int fd = open_source(path, binary, e);

	return fd < 0 ? fd : file_read(fd, path, SOURCE_LINES_MAX, ret, e);
}

static void put_untabbed(struct buf *out, const char *line, size_t len)
{
	size_t column = 0;

	for (size_t i = 0; i < len; i++) {
		bool is_blank = line[i] == '\t' || line[i] == '\0';

		do
			buf_put_byte(out, is_blank ? ' ' : (unsigned char)line[i]);
		while (++column % 8 && line[i] == '\t');
	}
	buf_put_byte(out, 0);
}

int source_lines_load(struct source_lines *s, const char *path, const char *binary, struct err *e)
{
	CLEANUP(buf_fini) struct buf file = { 0 };
	int rc = read_source(path, binary, &file, e);
	struct cursor c = cursor_make(file.data, file.len);
	const char *line, *at;
	size_t len;

	if (rc < 0)
		return rc;
	while (cursor_line(&c, &line, &len)) {
		put_untabbed(&s->text, line, len);
		s->count++;
	}
	s->lines = reallocarray(NULL, s->count + 1, sizeof *s->lines);
	if (buf_error(&s->text) < 0 || !s->lines) {
		source_lines_fini(s);
		return err_nomem(e);
	}
	at = s->text.data;
	for (size_t i = 0; i < s->count; i++, at += strlen(at) + 1)
		s->lines[i] = at;
	return 0;
}
