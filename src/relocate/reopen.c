/* SPDX-License-Identifier: MIT */
#include "relocate/reopen.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "relocate/copy/beneath.h"

#define MAGIC "SQLite format 3" /* with its NUL: 16 bytes */
#define WRITE_VERSION 18        /* offset: 1 rollback journal, 2 write-ahead log */
#define JOURNAL "-journal"

enum database { NO_DATABASE, ROLLBACK_JOURNAL, WRITE_AHEAD_LOG };

static enum database read_header(const struct reloc_file *f, const struct top_dir *old_dir)
{
	CLEANUP(fd_close)
	int fd = open_beneath(old_dir->fd, f->old_path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	unsigned char head[WRITE_VERSION + 1];

	if (fd < 0 || pread(fd, head, sizeof head, 0) != sizeof head ||
	    memcmp(head, MAGIC, sizeof MAGIC) != 0)
		return NO_DATABASE;
	return head[WRITE_VERSION] == 2 ? WRITE_AHEAD_LOG : ROLLBACK_JOURNAL;
}

/* Is path a journal, and the file that it belongs to open, too? Headers may be encrypted. */
static bool is_journal(const struct reloc_inventory *s, const char *path)
{
	size_t len = strlen(path), end = sizeof JOURNAL - 1;

	if (len <= end || strcmp(path + len - end, JOURNAL) != 0)
		return false;
	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].old_path && strlen(s->files[i].old_path) == len - end &&
		    memcmp(s->files[i].old_path, path, len - end) == 0)
			return true;
	return false;
}

static int add_database(struct reloc_inventory *s, const struct reloc_fd *fd, enum database kind,
			struct err *e)
{
	const struct reloc_file *f = &s->files[s->descs[fd->desc].file];
	char what[32];

	snprintf(what, sizeof what, "descriptor %d", fd->number);
	if (kind == WRITE_AHEAD_LOG)
		return reloc_inventory_add(
			s, RELOC_NOTE, fd->proc, what, f->old_path,
			"a new connection opens this SQLite database by its path",
			"--swap mounts NEW at the path of OLD", e);
	return reloc_inventory_add(
		s, RELOC_BLOCKS, fd->proc, what, f->old_path,
		"SQLite with a rollback journal does not write a database whose inode changes",
		"a write-ahead log works: PRAGMA journal_mode=WAL", e);
}

static bool is_written(const struct reloc_inventory *s, const struct reloc_fd *fd)
{
	const struct reloc_desc *d = &s->descs[fd->desc];
	const struct reloc_file *f = &s->files[d->file];

	return !d->stays && (d->flags & O_ACCMODE) != O_RDONLY && S_ISREG(f->mode) && f->old_path;
}

/* One row for each file, of the first descriptor. */
static bool is_first(const struct reloc_inventory *s, size_t fd)
{
	for (size_t i = 0; i < fd; i++)
		if (s->descs[s->fds[i].desc].file == s->descs[s->fds[fd].desc].file &&
		    is_written(s, &s->fds[i]))
			return false;
	return true;
}

int reopen_find(struct reloc_inventory *s, const struct top_dir *old_dir, bool swaps, struct err *e)
{
	for (size_t i = 0; i < s->fd_count; i++) {
		const struct reloc_file *f = &s->files[s->descs[s->fds[i].desc].file];
		enum database kind;

		if (!is_written(s, &s->fds[i]))
			continue;
		kind = is_journal(s, f->old_path) ? ROLLBACK_JOURNAL : read_header(f, old_dir);
		if (kind == NO_DATABASE || (swaps && kind == WRITE_AHEAD_LOG))
			continue;
		if (is_first(s, i) && add_database(s, &s->fds[i], kind, e) < 0)
			return e->code;
	}
	return 0;
}
