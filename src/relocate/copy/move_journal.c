/* SPDX-License-Identifier: MIT */
#include "relocate/copy/move_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "relocate/copy/attrs.h"
#include "relocate/copy/beneath.h"
#include "target/proc.h"

#define MOVE_JOURNAL_MAX (16 << 20) /* bytes */
#define TOP_FORMAT                                                                       \
	"new %d %d %" PRIu32 " %" PRIu32 " %" PRIo32 " %" PRId64 " %" PRIu32 " %" PRId64 \
	" %" PRIu32 " %" PRIx32 " %" PRIu32

void move_journal_fini(struct move_journal *m)
{
	free(m->old_path);
	buf_fini(&m->attrs);
	rows_fini(&m->job);
	memset(m, 0, sizeof *m);
}

static char *printable(const char *path)
{
	char *copy = strdup(path);

	for (char *at = copy; at && *at; at++)
		if ((unsigned char)*at < ' ')
			*at = '?';
	return copy;
}

static int fill_maker(struct move_journal_process *ret, struct err *e)
{
	struct proc_stat stat;

	if (!proc_stat_read(&stat, getpid()))
		return err_set(e, -ESRCH, "/proc/self/stat");
	*ret = (struct move_journal_process){ getpid(), stat.start_ticks };
	return 0;
}

int move_journal_fill(struct move_journal *ret, const struct top_dir *old_dir,
		      const struct top_dir *new_dir, struct err *e)
{
	struct statx x;

	ret->old_path = printable(old_dir->path);
	if (!ret->old_path)
		return err_nomem(e);
	ret->old_dev_major = old_dir->st_dev_major;
	ret->old_dev_minor = old_dir->st_dev_minor;
	ret->old_ino = old_dir->ino;
	ret->was_made = new_dir->was_made;
	ret->had_lost_found =
		new_dir->is_mount_root &&
		statx(new_dir->fd, "lost+found", AT_SYMLINK_NOFOLLOW, STATX_TYPE, &x) == 0;
	if (statx(new_dir->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &ret->top) < 0)
		return err_errno(e, "%s", new_dir->path);
	inode_flags_read(new_dir->fd, &ret->flags);
	if (attrs_save(new_dir->fd, &ret->attrs, e) < 0)
		return e->code;
	return fill_maker(&ret->maker, e);
}

static void put_process(struct buf *text, const char *word, const struct move_journal_process *p)
{
	buf_printf(text, "%s %d %" PRIu64 "\n", word, (int)p->pid, p->start_ticks);
}

static void put_text(struct buf *text, const struct move_journal *m)
{
	const struct statx *top = &m->top;

	put_process(text, "auger relocate", &m->maker);
	buf_printf(text, "old %" PRIu32 " %" PRIu32 " %" PRIu64 " %s\n", m->old_dev_major,
		   m->old_dev_minor, m->old_ino, m->old_path);
	buf_printf(text, TOP_FORMAT "\nattrs ", m->was_made, m->had_lost_found, top->stx_uid,
		   top->stx_gid, (uint32_t)top->stx_mode, (int64_t)top->stx_atime.tv_sec,
		   top->stx_atime.tv_nsec, (int64_t)top->stx_mtime.tv_sec, top->stx_mtime.tv_nsec,
		   m->flags.flags, m->flags.project);
	for (size_t i = 0; i < m->attrs.len; i++)
		buf_printf(text, "%02x", (unsigned char)m->attrs.data[i]);
	buf_put_str(text, "\nend\n");
}

/* Creates the journal under its name only when it is complete. */
static int create_whole(int dir, const struct buf *text)
{
	CLEANUP(fd_close) int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char path[PROC_PATH];
	int rc;

	if (fd < 0)
		return -EOPNOTSUPP;
	rc = file_write_all(fd, text->data, text->len);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (rc == 0 && linkat(AT_FDCWD, path, dir, MOVE_JOURNAL_NAME, AT_SYMLINK_FOLLOW) < 0)
		rc = -errno;
	return rc;
}

static int create(int dir, const struct buf *text)
{
	CLEANUP(fd_close)
	int fd = openat(dir, MOVE_JOURNAL_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : file_write_all(fd, text->data, text->len);

	if (fd >= 0 && rc < 0)
		(void)unlinkat(dir, MOVE_JOURNAL_NAME, 0);
	return rc;
}

int move_journal_create(const struct move_journal *m, const struct top_dir *new_dir, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc;

	put_text(&text, m);
	if (buf_error(&text) < 0)
		return err_nomem(e);
	rc = create_whole(new_dir->fd, &text);
	if (rc == -EOPNOTSUPP)
		rc = create(new_dir->fd, &text);
	return rc < 0 ? err_set(e, rc, "%s/" MOVE_JOURNAL_NAME ": %s", new_dir->path, strerror(-rc))
		      : 0;
}

static int append(const struct top_dir *new_dir, const struct buf *text, struct err *e)
{
	CLEANUP(fd_close)
	int fd = open_beneath(new_dir->fd, MOVE_JOURNAL_NAME, O_WRONLY | O_APPEND | O_NOFOLLOW, 0);
	int rc = fd < 0 ? fd : file_write_all(fd, text->data, text->len);

	return rc < 0 ? err_set(e, rc, "%s/" MOVE_JOURNAL_NAME ": %s", new_dir->path, strerror(-rc))
		      : 0;
}

int move_journal_take_over(const struct top_dir *new_dir, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct move_journal_process maker = { 0 };

	if (fill_maker(&maker, e) < 0)
		return e->code;
	buf_put_str(&text, "copying\n");
	put_process(&text, "auger relocate", &maker);
	return buf_error(&text) < 0 ? err_nomem(e) : append(new_dir, &text, e);
}

int move_journal_set_moving(const struct top_dir *new_dir, const struct reloc_inventory *s,
			    struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	buf_put_str(&text, "moving\n");
	for (size_t i = 0; i < s->proc_count; i++)
		put_process(
			&text, "process",
			&(struct move_journal_process){ s->procs[i].pid, s->procs[i].start_ticks });
	return buf_error(&text) < 0 ? err_nomem(e) : append(new_dir, &text, e);
}

int move_journal_remove(const struct top_dir *new_dir, struct err *e)
{
	if (unlinkat(new_dir->fd, MOVE_JOURNAL_NAME, 0) < 0 && errno != ENOENT)
		return err_errno(e, "%s/" MOVE_JOURNAL_NAME, new_dir->path);
	return 0;
}

static bool parse_process(const char *line, const char *word, struct move_journal_process *ret)
{
	size_t len = strlen(word);
	int pid;

	if (strncmp(line, word, len) != 0 ||
	    sscanf(line + len, " %d %" SCNu64, &pid, &ret->start_ticks) != 2)
		return false;
	ret->pid = pid;
	return true;
}

static void parse_attrs(struct move_journal *m, const char *hex)
{
	unsigned char byte;

	for (; sscanf(hex, "%2hhx", &byte) == 1; hex += 2)
		buf_put_byte(&m->attrs, byte);
}

static bool parse_top(struct move_journal *m, const char *line)
{
	struct statx *top = &m->top;
	int was_made, had_lost_found;
	uint32_t mode;
	int64_t atime_s, mtime_s;

	if (sscanf(line, TOP_FORMAT, &was_made, &had_lost_found, &top->stx_uid, &top->stx_gid,
		   &mode, &atime_s, &top->stx_atime.tv_nsec, &mtime_s, &top->stx_mtime.tv_nsec,
		   &m->flags.flags, &m->flags.project) != 11)
		return false;
	m->was_made = was_made;
	m->had_lost_found = had_lost_found;
	top->stx_mode = (uint16_t)mode;
	top->stx_atime.tv_sec = atime_s;
	top->stx_mtime.tv_sec = mtime_s;
	return true;
}

static bool parse_old(struct move_journal *m, const char *line)
{
	int path = 0;

	if (sscanf(line, "old %" SCNu32 " %" SCNu32 " %" SCNu64 " %n", &m->old_dev_major,
		   &m->old_dev_minor, &m->old_ino, &path) != 3 ||
	    !path)
		return false;
	free(m->old_path);
	m->old_path = strdup(line + path);
	return true;
}

/* -EINVAL: not a line of a journal. */
static int parse_line(struct move_journal *m, const char *line)
{
	struct move_journal_process p, *row;

	if (parse_process(line, "auger relocate", &m->maker))
		return 0;
	if (strncmp(line, "old ", 4) == 0)
		return !parse_old(m, line) ? -EINVAL : m->old_path ? 0 : -ENOMEM;
	if (strncmp(line, "new ", 4) == 0)
		return parse_top(m, line) ? 0 : -EINVAL;
	if (strncmp(line, "attrs ", 6) == 0) {
		parse_attrs(m, line + 6);
		return buf_error(&m->attrs);
	}
	if (parse_process(line, "process", &p)) {
		row = rows_add(&m->job, sizeof *row);
		if (!row)
			return -ENOMEM;
		*row = p;
		return 0;
	}
	m->is_moving = strcmp(line, "moving") == 0;
	m->job.count = 0;
	return m->is_moving || strcmp(line, "copying") == 0 || strcmp(line, "end") == 0 ? 0
											: -EINVAL;
}

static int parse(struct move_journal *m, char *text, struct err *e)
{
	bool is_whole = false;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		int rc = *line ? parse_line(m, line) : 0;

		if (rc < 0)
			return rc == -ENOMEM ? err_nomem(e)
					     : err_set(e, rc, "not a journal of auger relocate");
		is_whole |= strcmp(line, "end") == 0;
	}
	return is_whole && m->old_path && m->maker.pid
		       ? 0
		       : err_set(e, -EINVAL, "not a journal of auger relocate");
}

/* Another user with write permission may have created the file. */
static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & 07777) == 0600 && st.st_nlink == 1;
}

int move_journal_read(struct move_journal *ret, const struct top_dir *new_dir, struct err *e)
{
	CLEANUP(fd_close)
	int fd =
		open_beneath(new_dir->fd, MOVE_JOURNAL_NAME, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct move_journal m = { 0 };
	char path[PROC_PATH];

	if (fd < 0 || !is_ours(fd))
		return err_set(e, -ENOENT, "%s has no journal of a move", new_dir->path);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (file_read_small(path, MOVE_JOURNAL_MAX, &text, e) < 0)
		return e->code;
	buf_put_byte(&text, '\0');
	if (buf_error(&text) < 0)
		return err_nomem(e);
	if (parse(&m, text.data, e) < 0) {
		move_journal_fini(&m);
		return err_wrap(e, "%s/" MOVE_JOURNAL_NAME, new_dir->path);
	}
	*ret = m;
	return 0;
}

int move_journal_restore_top(const struct move_journal *m, const struct top_dir *new_dir,
			     struct err *e)
{
	int fd = new_dir->fd;

	if (m->was_made)
		return rmdir(new_dir->path) < 0 ? err_errno(e, "%s", new_dir->path) : 0;
	inode_flags_restore(fd, &m->flags);
	if (attrs_restore(fd, &m->attrs, e) < 0)
		return err_wrap(e, "%s", new_dir->path);
	if (fchown(fd, m->top.stx_uid, m->top.stx_gid) < 0 ||
	    fchmod(fd, m->top.stx_mode & 07777) < 0 || attrs_set_times(fd, &m->top) < 0)
		return err_errno(e, "%s", new_dir->path);
	return 0;
}

bool move_journal_is_from(const struct move_journal *m, const struct top_dir *old_dir)
{
	char *path = printable(old_dir->path);
	bool is_same = path && strcmp(m->old_path, path) == 0 &&
		       m->old_dev_major == old_dir->st_dev_major &&
		       m->old_dev_minor == old_dir->st_dev_minor && m->old_ino == old_dir->ino;

	free(path);
	return is_same;
}

bool move_journal_process_is_alive(const struct move_journal_process *p)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, p->pid) && stat.start_ticks == p->start_ticks &&
	       !strchr("ZX", stat.state);
}
