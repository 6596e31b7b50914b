/* SPDX-License-Identifier: MIT */
#include "relocate/copy/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "relocate/copy/left.h"
#include "relocate/copy/tree.h"

#define FLUSH_AT_ONCE ((size_t)64) /* files */

static int open_below(int dir, const char *name, int flags, unsigned mode)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	long fd;

	do
		fd = syscall(SYS_openat2, dir, name, &how, sizeof how);
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 ? -errno : (int)fd;
}

/* Directory by directory, as much as the kernel takes at once. */
int tree_open(int dir, const char *name, int flags, unsigned mode)
{
	int at = dir, next;

	while (strlen(name) >= PATH_MAX) {
		char part[PATH_MAX];
		const char *slash = memrchr(name, '/', PATH_MAX - 1);

		if (!slash) {
			next = -ENAMETOOLONG;
		} else {
			snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
			next = open_below(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
			name = slash + 1;
		}
		if (at != dir)
			close(at);
		if (next < 0)
			return next;
		at = next;
	}
	next = open_below(at, name, flags, mode);
	if (at != dir)
		close(at);
	return next;
}

int64_t tree_ctime_ns(const struct statx *x)
{
	return x->stx_ctime.tv_sec * NS_PER_S + x->stx_ctime.tv_nsec;
}

struct tree_entry *tree_entry_at(struct copy *c, const char *path, uint32_t *ret_row)
{
	uint32_t row = strtab_intern(c->paths, path, strlen(path));

	if (row == STRTAB_NONE)
		return NULL;
	if (row == c->entries.count && !rows_add(&c->entries, sizeof(struct tree_entry)))
		return NULL;
	*ret_row = row;
	return (struct tree_entry *)c->entries.data + row;
}

struct tree_node *tree_node_at(struct copy *c, const struct statx *x, uint32_t *ret_row)
{
	uint64_t id[2] = { x->stx_ino, (uint64_t)x->stx_dev_major << 32 | x->stx_dev_minor };
	uint32_t row = strtab_intern(c->node_ids, id, sizeof id);
	struct tree_node *n;

	if (row == STRTAB_NONE)
		return NULL;
	if (row == c->nodes.count) {
		n = rows_add(&c->nodes, sizeof *n);
		if (!n)
			return NULL;
		n->entry = RELOC_NONE;
		n->ctime_ns = -1;
	}
	*ret_row = row;
	return (struct tree_node *)c->nodes.data + row;
}

static int check_no_names(const struct reloc_place *new, const char *below, struct err *e)
{
	int fd = tree_open(new->fd, below, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	DIR *names = fd < 0 ? NULL : fdopendir(fd);
	bool is_top = strcmp(below, ".") == 0;
	struct dirent *d;
	int rc = 0;

	if (!names)
		return err_errno(e, "%s", new->path);
	while (rc == 0 && (d = readdir(names))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (is_top && new->is_mount_root && strcmp(d->d_name, "lost+found") == 0)
			rc = check_no_names(new, d->d_name, e);
		else
			rc = err_set(e, -ENOTEMPTY, "%s is not empty: it has '%s%s%s'", new->path,
				     is_top ? "" : below, is_top ? "" : "/", d->d_name);
	}
	closedir(names);
	return rc;
}

/* Two a directory on the way down. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* While it is being made nobody else may look into it, or plant a link. */
static int close_top(const struct copy *c, struct err *e)
{
	const struct reloc_place *new = c->new_place;

	if (fchown(new->fd, geteuid(), getegid()) < 0 || fchmod(new->fd, 0700) < 0)
		return err_errno(e, "%s", new->path);
	return 0;
}

/* A mark in OLD tells of another move. */
static int check_old(const struct copy *c, struct err *e)
{
	if (faccessat(c->old_place->fd, MARK_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, -EBUSY,
			       "%s/" MARK_NAME
			       " tells of a move to there that was killed: end it first, or remove "
			       "the file",
			       c->old_place->path);
	return 0;
}

/* NEW is empty, or has what is left of a move from here. Changes nothing. */
static int look_into_new(struct copy *c, struct err *e)
{
	enum left left;

	if (check_old(c, e) < 0 || left_look(c->old_place, c->new_place, &left, e) < 0)
		return e->code;
	if (left == LEFT_MOVED)
		return err_set(e, -EBUSY, "%s has the job already, by a move that was killed",
			       c->new_place->path);
	if (left == LEFT_NONE)
		return check_no_names(c->new_place, ".", e);
	if (mark_read(&c->mark, c->new_place, e) < 0)
		return e->code;
	c->is_marked = true;
	return tree_adopt(c, e);
}

static int put_mark(struct copy *c, struct err *e)
{
	if (c->is_marked)
		return mark_take_over(c->new_place, e);
	if (mark_fill(&c->mark, c->old_place, c->new_place, e) < 0 ||
	    mark_write(&c->mark, c->new_place, e) < 0)
		return e->code;
	c->is_marked = true;
	return 0;
}

static int prepare(struct copy *c, const struct survey *s, struct err *e)
{
	raise_limit();
	if (look_into_new(c, e) < 0 || tree_check_space(c, s, e) < 0 || put_mark(c, e) < 0)
		return e->code;
	return close_top(c, e);
}

static struct copy *copy_new(const struct reloc_place *old_place,
			     const struct reloc_place *new_place)
{
	struct copy *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->old_place = old_place;
	c->new_place = new_place;
	c->paths = strtab_new();
	c->node_ids = strtab_new();
	c->block = malloc(TREE_BLOCK);
	c->other = malloc(TREE_BLOCK);
	if (c->paths && c->node_ids && c->block && c->other)
		return c;
	copy_close(c);
	return NULL;
}

int copy_check(const struct reloc_place *old_place, const struct reloc_place *new_place,
	       const struct survey *s, uint64_t *ret_bytes, struct err *e)
{
	struct copy *c = copy_new(old_place, new_place);
	int rc = 0;

	if (!c)
		return err_nomem(e);
	raise_limit();
	/* Where NEW is still to be made, new_place is where. */
	if (!new_place->was_made)
		rc = look_into_new(c, e);
	if (rc == 0)
		rc = tree_check_space(c, s, e);
	*ret_bytes = c->total_bytes;
	copy_close(c);
	return rc;
}

int copy_open(struct copy **ret, const struct reloc_place *old_place,
	      const struct reloc_place *new_place, const struct survey *s,
	      const struct copy_opts *opts, struct err *e)
{
	struct copy *c = copy_new(old_place, new_place);

	if (!c)
		return err_nomem(e);
	c->opts = *opts;
	c->device_fd = -1;
	if (prepare(c, s, e) < 0) {
		struct err why = { 0 };

		if (copy_undo(c, &why) < 0)
			log_msg(LOG_WARN, "relocate", "%s", why.msg);
		copy_close(c);
		return e->code;
	}
	*ret = c;
	return 0;
}

void copy_close(struct copy *c)
{
	if (!c)
		return;
	strtab_free(c->paths);
	strtab_free(c->node_ids);
	rows_fini(&c->entries);
	rows_fini(&c->nodes);
	rows_fini(&c->unflushed);
	rows_fini(&c->late);
	buf_fini(&c->path);
	mark_fini(&c->mark);
	free(c->block);
	free(c->other);
	if (c->device_fd >= 0)
		close(c->device_fd);
	free(c);
}

/* All descriptions of the file only read it or only append to it. */
static bool is_appended(const struct survey *s, uint32_t file)
{
	bool has_writer = false;

	for (size_t i = 0; i < s->desc_count; i++) {
		unsigned flags = s->descs[i].flags;

		if (s->descs[i].file != file || (flags & O_ACCMODE) == O_RDONLY)
			continue;
		if (!(flags & O_APPEND))
			return false;
		has_writer = true;
	}
	return has_writer;
}

/* What is now known of the file would have had it looked into: it will be. */
static void mark_node(const struct copy *c, struct tree_node *n, bool is_mapped, bool is_appended,
		      bool *must_look)
{
	if ((is_mapped && !n->is_mapped) ||
	    (c->opts.trusts_append && n->is_appended && !is_appended))
		n->is_recent = *must_look = true;
	n->is_mapped |= is_mapped;
	n->is_appended = is_appended;
}

static int mark_files(struct copy *c, const struct survey *s, bool *must_look, struct err *e)
{
	*must_look = false;
	for (uint32_t i = 0; i < s->file_count; i++) {
		const struct reloc_file *f = &s->files[i];
		struct statx x = { .stx_ino = f->ino,
				   .stx_dev_major = f->dev_major,
				   .stx_dev_minor = f->dev_minor };
		uint32_t row;
		struct tree_node *n = tree_node_at(c, &x, &row);

		if (!n)
			return err_nomem(e);
		mark_node(c, n, f->uses & RELOC_USE_MAPPED_WRITABLE, is_appended(s, i), must_look);
	}
	return 0;
}

static void begin_pass(struct copy *c, enum copy_kind kind, int64_t looked_ns)
{
	c->kind = kind;
	c->pass++;
	c->looked_ns = looked_ns;
	c->began_ns = clock_mono_ns();
	c->sent_bytes = 0;
	memset(&c->did, 0, sizeof c->did);
}

static int end_pass(struct copy *c, const struct survey *s, struct copy_pass *ret, struct err *e)
{
	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].is_deleted && s->files[i].source && !S_ISDIR(s->files[i].mode) &&
		    tree_take_hidden(c, &s->files[i], e) < 0)
			return e->code;
	if (tree_remove_gone(c, e) < 0)
		return e->code;
	c->did.took_ns = clock_mono_ns() - c->began_ns;
	*ret = c->did;
	return 0;
}

int copy_pass_run(struct copy *c, const struct survey *s, enum copy_kind kind,
		  struct copy_pass *ret, struct err *e)
{
	bool must_look;

	begin_pass(c, kind, clock_wall_ns() - s->took_ns);
	if (mark_files(c, s, &must_look, e) < 0 || tree_walk(c, e) < 0)
		return e->code;
	return end_pass(c, s, ret, e);
}

int copy_last_walk(struct copy *c, struct err *e)
{
	begin_pass(c, COPY_LAST, clock_wall_ns());
	return tree_walk(c, e);
}

/* What the job did to a file since it was last looked at may be of another kind than before. */
int copy_last_end(struct copy *c, const struct survey *s, struct copy_pass *ret, struct err *e)
{
	bool must_look;

	if (mark_files(c, s, &must_look, e) < 0)
		return e->code;
	if (must_look) {
		c->pass++;
		if (tree_walk(c, e) < 0)
			return e->code;
	}
	return end_pass(c, s, ret, e);
}

void copy_watch(struct copy *c, const struct survey *s)
{
	tree_watch(c, s);
}

bool copy_must_watch(const struct copy *c)
{
	return tree_must_watch(c);
}

int copy_finish(struct copy *c, const struct survey *s, struct err *e)
{
	struct tree_pair top = { c->old_place->fd, c->new_place->fd };
	uint32_t late; /* never of the top: the mark must go */

	if (mark_move(c->new_place, s, e) < 0)
		return e->code;
	if (tree_copy_flags(c, &top, &late, e) < 0 || tree_copy_attrs(&top, &c->old_top, e) < 0)
		return err_wrap(e, "%s", c->new_place->path);
	return 0;
}

int copy_commit(struct copy *c, struct err *e)
{
	const struct tree_entry *entries = c->entries.data;

	for (uint32_t i = 0; i < c->entries.count; i++)
		if (entries[i].is_made && entries[i].is_hidden && tree_remove(c, i, e) < 0)
			return e->code;
	if (mark_remove(c->new_place, e) < 0)
		return e->code;
	return tree_set_times(c->new_place->fd, &c->old_top) < 0
		       ? err_errno(e, "%s", c->new_place->path)
		       : 0;
}

int copy_sync(struct copy *c, struct err *e)
{
	c->unflushed.count = 0;
	return syncfs(c->new_place->fd) < 0 ? err_errno(e, "%s", c->new_place->path) : 0;
}

/* Open, and on its way to the storage; -1: it was removed meanwhile. */
static int start_flush(const struct copy *c, const struct tree_node *n, int *ret_fd, struct err *e)
{
	const char *path;

	*ret_fd = -1;
	if (n->entry == RELOC_NONE || !S_ISREG(n->mode)) /* a FIFO has its number by now, say */
		return 0;
	path = strtab_get(c->paths, n->entry).ptr;
	*ret_fd = tree_open(c->new_place->fd, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	if (*ret_fd < 0)
		return err_set(e, *ret_fd, "/%s: in NEW: %s", path, strerror(-*ret_fd));
	if (sync_file_range(*ret_fd, 0, 0, SYNC_FILE_RANGE_WRITE) < 0)
		return err_errno(e, "/%s: in NEW", path);
	return 0;
}

static int end_flush(const struct copy *c, const struct tree_node *n, int fd, struct err *e)
{
	const unsigned all =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

	if (fd < 0 || e->code < 0 || sync_file_range(fd, 0, 0, all) == 0)
		return e->code;
	return err_errno(e, "/%s: in NEW", strtab_get(c->paths, n->entry).ptr);
}

/* Storage takes many at once as quickly as one. */
static int flush_some(const struct copy *c, const uint32_t *nodes, size_t count, struct err *e)
{
	const struct tree_node *all = c->nodes.data;
	int fds[FLUSH_AT_ONCE] = { 0 };
	size_t open = 0;

	while (open < count && start_flush(c, &all[nodes[open]], &fds[open], e) == 0)
		open++;
	if (open < count && fds[open] >= 0)
		close(fds[open]);
	for (size_t i = 0; i < open; i++) {
		(void)!end_flush(c, &all[nodes[i]], fds[i], e);
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return e->code;
}

/* The content of each file, and then once what a journal has of all. */
int copy_flush(struct copy *c, struct err *e)
{
	const uint32_t *nodes = c->unflushed.data;
	size_t count = c->unflushed.count;

	for (size_t i = 0; i < count; i += FLUSH_AT_ONCE)
		if (flush_some(c, nodes + i, count - i < FLUSH_AT_ONCE ? count - i : FLUSH_AT_ONCE,
			       e) < 0)
			return e->code;
	c->unflushed.count = 0;
	return fsync(c->new_place->fd) < 0 ? err_errno(e, "%s", c->new_place->path) : 0;
}

int copy_seal(struct copy *c, struct err *e)
{
	if (c->late.count == 0)
		return 0;
	return tree_set_late_flags(c, e) < 0 ? e->code : copy_flush(c, e);
}

int copy_undo(struct copy *c, struct err *e)
{
	for (uint32_t i = (uint32_t)c->entries.count; i-- > 0;)
		if (tree_remove(c, i, e) < 0)
			return e->code;
	if (c->is_marked)
		return mark_remove(c->new_place, e) < 0 ? e->code
							: mark_put_back(&c->mark, c->new_place, e);
	if (c->new_place->was_made && rmdir(c->new_place->path) < 0)
		return err_errno(e, "%s", c->new_place->path);
	return 0;
}

int copy_undo_left(const struct reloc_place *new_place, struct err *e)
{
	struct copy *c = copy_new(NULL, new_place);
	int rc;

	if (!c)
		return err_nomem(e);
	rc = mark_read(&c->mark, new_place, e);
	c->is_marked = rc == 0;
	if (rc == 0 && tree_adopt(c, e) == 0)
		rc = copy_undo(c, e);
	copy_close(c);
	return rc < 0 ? rc : e->code;
}
