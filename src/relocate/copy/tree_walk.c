/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "relocate/copy/copy_internal.h"
#include "target/proc.h"

#define MAX_TRIES 3 /* for a name that is replaced meanwhile */

#define STATX_MASK (STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID)

/* The current name: its directory in both trees, and its statx in OLD. */
struct at {
	int old_dir, new_dir;
	const char *name;
	const char *source; /* link in /proc of an unlinked file; NULL: the file has a name */
	struct statx x;
	uint32_t entry, node; /* rows, because new rows move the old ones */
	bool was_recent;      /* the node, before its content was read */
};

static void close_pair(const struct file_pair *p)
{
	fd_close(&p->from);
	fd_close(&p->to);
}

static struct tree_entry *entry_of(const struct copy *c, const struct at *at)
{
	return (struct tree_entry *)c->entries.data + at->entry;
}

static struct tree_node *node_of(const struct copy *c, const struct at *at)
{
	return (struct tree_node *)c->nodes.data + at->node;
}

static int open_from(const struct at *at, int flags)
{
	int fd;

	if (!at->source)
		return open_beneath(at->old_dir, at->name, flags | O_NOFOLLOW, 0);
	fd = open(at->source, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens regular files for their content, others as O_PATH. O_NONBLOCK: by now it may be a FIFO.
 * Only owner and root may use O_NOATIME. */
static int open_pair(const struct at *at, struct file_pair *ret, struct err *e)
{
	bool is_file = S_ISREG(at->x.stx_mode);

	ret->to = -1;
	ret->from = open_from(at, is_file ? O_RDONLY | O_NONBLOCK | O_NOATIME : O_PATH);
	if (is_file && ret->from == -EPERM)
		ret->from = open_from(at, O_RDONLY | O_NONBLOCK);
	if (ret->from < 0)
		return err_set(e, ret->from, "%s", strerror(-ret->from));
	ret->to = open_beneath(at->new_dir, at->name,
			       O_NOFOLLOW | (is_file ? O_RDWR | O_NONBLOCK : O_PATH), 0);
	if (ret->to < 0)
		return err_set(e, ret->to, "in NEW: %s", strerror(-ret->to));
	return 0;
}

static int make_symlink(const struct at *at, struct err *e)
{
	CLEANUP(fd_close) int from = open_from(at, O_PATH);
	char target[PATH_MAX];
	ssize_t len = from < 0 ? -1 : readlinkat(from, "", target, sizeof target - 1);

	if (len < 0)
		return err_errno(e, "read the link");
	target[len] = '\0';
	return symlinkat(target, at->new_dir, at->name) < 0 ? err_errno(e, "create the link") : 0;
}

static int make_file(const struct at *at, struct err *e)
{
	CLEANUP(fd_close)
	int fd =
		open_beneath(at->new_dir, at->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);

	return fd < 0 ? err_set(e, fd, "create: %s", strerror(-fd)) : 0;
}

static int make_name(const struct at *at, struct err *e)
{
	mode_t type = at->x.stx_mode & S_IFMT;
	int rc;

	if (type == S_IFREG)
		return make_file(at, e);
	if (type == S_IFLNK)
		return make_symlink(at, e);
	if (type == S_IFDIR)
		rc = mkdirat(at->new_dir, at->name, 0700);
	else
		rc = mknodat(at->new_dir, at->name, type | 0600,
			     makedev(at->x.stx_rdev_major, at->x.stx_rdev_minor));
	return rc < 0 ? err_errno(e, "create") : 0;
}

/* mkfs creates lost+found on ext4: NEW keeps its own. */
static bool is_lost_and_found(const struct copy *c, const struct at *at)
{
	return c->path.len == 10 && strcmp(at->name, "lost+found") == 0 &&
	       S_ISDIR(at->x.stx_mode) && c->new_dir->is_mount_root;
}

static int create_node(struct copy *c, struct at *at, struct err *e)
{
	struct tree_node *n = node_of(c, at);

	if (make_name(at, e) < 0) {
		if (e->code != -EEXIST || !is_lost_and_found(c, at))
			return e->code;
		entry_of(c, at)->is_ours = false;
		memset(e, 0, sizeof *e);
	} else {
		entry_of(c, at)->is_ours = true;
	}
	n->entry = at->entry;
	n->copy++;
	n->names = 0;
	n->ctime_ns = -1;
	n->size_bytes = 0;
	n->pass = n->good_pass = 0;
	return 0;
}

/* Adds a name to an inode that NEW has already. */
static int make_link(struct copy *c, struct at *at, struct err *e)
{
	const char *path = strtab_get(c->paths, node_of(c, at)->entry).ptr, *name;
	CLEANUP(fd_close) int dir = tree_open_parent(c, path, &name);

	if (dir < 0)
		return err_set(e, dir, "in NEW: %s", strerror(-dir));
	if (linkat(dir, name, at->new_dir, at->name, 0) < 0)
		return err_errno(e, "create the hard link");
	entry_of(c, at)->is_ours = true;
	return 0;
}

static bool is_same(const struct copy *c, const struct at *at)
{
	const struct tree_entry *entry = entry_of(c, at);

	return entry->node == at->node && ((entry->mode ^ at->x.stx_mode) & S_IFMT) == 0 &&
	       entry->copy == node_of(c, at)->copy;
}

/* Makes the name exist in NEW, perhaps without content. */
static int make_entry(struct copy *c, struct at *at, struct err *e)
{
	struct tree_entry *entry = entry_of(c, at);
	const struct tree_node *n = node_of(c, at);

	tree_match_leftover(c, at->entry, at->node, &at->x);
	if (entry->is_made && !is_same(c, at) && tree_remove_all(c, at->entry, e) < 0)
		return e->code;
	if (!entry->is_made) {
		bool is_known = n->entry != RELOC_NONE && !S_ISDIR(at->x.stx_mode);

		if ((is_known ? make_link(c, at, e) : create_node(c, at, e)) < 0)
			return e->code;
		c->did.changed++;
		node_of(c, at)->names++;
	}
	entry->is_made = true;
	entry->ino = at->x.stx_ino;
	entry->dev_major = at->x.stx_dev_major;
	entry->dev_minor = at->x.stx_dev_minor;
	entry->mode = at->x.stx_mode;
	entry->node = at->node;
	entry->copy = n->copy;
	entry->pass = c->pass;
	entry->is_hidden = at->source != NULL;
	return 0;
}

static bool has_changed(const struct copy *c, const struct tree_node *n, const struct statx *x)
{
	if (n->ctime_ns != tree_ctime_ns(x) || n->is_recent || n->is_mapped)
		return true;
	return S_ISREG(x->stx_mode) && (c->kind == COPY_VERIFY || n->size_bytes != x->stx_size);
}

static void note_ctime(const struct copy *c, struct tree_node *n, const struct statx *x)
{
	n->ctime_ns = tree_ctime_ns(x);
	n->is_recent |= n->ctime_ns > c->scanned_ns - TREE_CLOCK_STEP_NS;
}

/* Is OLD unchanged since the content was copied? Then NEW must be equal. */
static bool is_unchanged(struct copy *c, const struct at *at, int from)
{
	const struct tree_node *n = node_of(c, at);
	struct statx x;

	tree_writers_find(c);
	return n->good_pass && !at->was_recent && !n->is_recent && !n->is_mapped &&
	       statx(from, "", AT_EMPTY_PATH, STATX_MASK, &x) == 0 &&
	       n->ctime_ns == tree_ctime_ns(&x);
}

static int fill_data(struct copy *c, const struct at *at, const struct file_pair *pair,
		     uint64_t *ret_size, struct err *e)
{
	uint64_t changed = c->did.changed;
	uint32_t *row;

	if (tree_copy_data(c, node_of(c, at), pair, ret_size, e) < 0)
		return e->code;
	if (changed == c->did.changed)
		return 0;
	if (c->kind == COPY_VERIFY && is_unchanged(c, at, pair->from))
		return err_set(e, -EIO, "NEW's storage returned other data than was written");
	row = rows_add(&c->unflushed, sizeof *row);
	if (!row)
		return err_nomem(e);
	*row = at->node;
	return 0;
}

/* Copies all attributes; times last, because setting the others changes them. */
static int fill_attrs(struct copy *c, const struct at *at, const struct file_pair *pair,
		      const struct statx *x, struct err *e)
{
	struct tree_node *n = node_of(c, at);
	uint32_t was = n->late_flags, *row;

	if ((S_ISREG(x->stx_mode) || S_ISDIR(x->stx_mode)) &&
	    tree_copy_flags(c, pair, &n->late_flags, e) < 0)
		return e->code;
	if (n->late_flags && !was) {
		row = rows_add(&c->late, sizeof *row);
		if (!row)
			return err_nomem(e);
		*row = at->node;
	}
	return attrs_copy(pair, x, e);
}

/* Copies content and attributes of anything but a directory. */
static int fill_changed(struct copy *c, struct at *at, struct err *e)
{
	CLEANUP(close_pair) struct file_pair pair = { -1, -1 };
	struct tree_node *n = node_of(c, at);
	uint64_t size = n->size_bytes;
	struct statx x;

	if (open_pair(at, &pair, e) < 0)
		return e->code;
	/* Before the content: a later change then has a newer time, or is noted. */
	at->was_recent = n->is_recent;
	n->is_recent = false;
	if (statx(pair.from, "", AT_EMPTY_PATH, STATX_MASK, &x) < 0)
		return err_errno(e, "statx");
	if (x.stx_ino != at->x.stx_ino || x.stx_mode != at->x.stx_mode) {
		n->pass--;
		return err_set(e, -EAGAIN, "it is being replaced");
	}
	if (S_ISREG(x.stx_mode) && fill_data(c, at, &pair, &size, e) < 0)
		return e->code;
	if (fill_attrs(c, at, &pair, &x, e) < 0)
		return e->code;
	n->size_bytes = size;
	n->good_pass = n->fill_pass = c->pass;
	note_ctime(c, n, &x);
	return 0;
}

static int fill(struct copy *c, struct at *at, struct err *e)
{
	struct tree_node *n = node_of(c, at);
	int64_t began_ns;
	int rc;

	if (n->pass == c->pass)
		return 0;
	n->pass = c->pass;
	if (!has_changed(c, n, &at->x)) {
		n->good_pass = c->pass;
		return 0;
	}
	began_ns = clock_mono_ns();
	rc = fill_changed(c, at, e);
	if (rc < 0)
		n->is_recent = true;
	c->did.fill_ns += clock_mono_ns() - began_ns;
	return rc;
}

static int walk_dir(struct copy *c, const struct file_pair *dir, unsigned depth, struct err *e);

/* The content first, because creating it changes the times of the directory. */
static int fill_dir(struct copy *c, const struct at *at, unsigned depth, struct err *e)
{
	CLEANUP(close_pair) struct file_pair dir = { -1, -1 };
	uint64_t changed = c->did.changed;
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

	dir.from = open_beneath(at->old_dir, at->name, flags, 0);
	if (dir.from < 0)
		return err_set(e, dir.from, "%s", strerror(-dir.from));
	dir.to = open_beneath(at->new_dir, at->name, flags, 0);
	if (dir.to < 0)
		return err_set(e, dir.to, "in NEW: %s", strerror(-dir.to));
	if (walk_dir(c, &dir, depth + 1, e) < 0)
		return e->code;
	node_of(c, at)->pass = c->pass;
	if (changed == c->did.changed && !has_changed(c, node_of(c, at), &at->x))
		return 0;
	node_of(c, at)->is_recent = false;
	if (entry_of(c, at)->is_ours && fill_attrs(c, at, &dir, &at->x, e) < 0)
		return e->code;
	note_ctime(c, node_of(c, at), &at->x);
	return 0;
}

static bool has_content(uint32_t mode)
{
	return S_ISREG(mode) || S_ISDIR(mode) || S_ISFIFO(mode) || S_ISSOCK(mode);
}

/* Has a new file the inode number of a removed one? A link gets its target when it is created, so
 * one with other times counts as new. */
static bool is_other_file(const struct copy *c, const struct tree_node *n, const struct statx *x,
			  int64_t born_ns)
{
	/* On network storage its name was seen to be created. */
	bool is_new = c->writers_fd >= 0 && n->is_recent && n->pass != c->pass;

	return n->mode && (((n->mode ^ x->stx_mode) & S_IFMT) || n->born_ns != born_ns ||
			   (!has_content(x->stx_mode) && n->ctime_ns >= 0 &&
			    (is_new || n->ctime_ns != tree_ctime_ns(x))));
}

/* If the inode is another file, its old names are removed or copied again. */
static void refresh_node(const struct copy *c, struct tree_node *n, const struct statx *x)
{
	int64_t born_ns = 0;

	if (x->stx_mask & STATX_BTIME)
		born_ns = x->stx_btime.tv_sec * NS_PER_S + x->stx_btime.tv_nsec;
	if (is_other_file(c, n, x, born_ns)) {
		n->entry = RELOC_NONE;
		n->copy++;
		n->names = 0;
		n->pass = n->good_pass = 0;
	}
	n->mode = x->stx_mode;
	n->born_ns = born_ns;
	n->is_linked |= x->stx_nlink > 1;
}

static int copy_entry(struct copy *c, struct at *at, unsigned depth, struct err *e)
{
	if (!tree_node_at(c, &at->x, &at->node) || !tree_entry_at(c, c->path.data, &at->entry))
		return err_nomem(e);
	if (c->kind != COPY_FINAL)
		tree_writers_find(c);
	refresh_node(c, node_of(c, at), &at->x);
	c->did.entries++;
	if (tree_check_end(c, e) < 0 || make_entry(c, at, e) < 0)
		return e->code;
	return S_ISDIR(at->x.stx_mode) ? fill_dir(c, at, depth, e) : fill(c, at, e);
}

/* Has the name gone, or changed its kind, since the directory was read? */
static bool is_race(int code)
{
	return code == -ENOENT || code == -EAGAIN || code == -ENOTDIR || code == -ELOOP;
}

static int try_name(struct copy *c, const struct file_pair *dir, const char *name, unsigned depth,
		    struct err *e)
{
	struct at at = { .old_dir = dir->from, .new_dir = dir->to, .name = name };

	if (statx(dir->from, name, AT_SYMLINK_NOFOLLOW, STATX_MASK, &at.x) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "/%s", c->path.data);
	if (at.x.stx_mnt_id != c->old_dir->mnt_id)
		return 0; /* a mount below OLD, which the scan reports */
	return copy_entry(c, &at, depth, e);
}

/* Leaves a name that is replaced again and again to the next pass. In the final pass only somebody
 * outside the job can replace it, and the copy would be incomplete: that is an error. */
static int copy_name(struct copy *c, const struct file_pair *dir, const char *name, unsigned depth,
		     struct err *e)
{
	for (int i = 0; i < MAX_TRIES; i++) {
		memset(e, 0, sizeof *e);
		if (try_name(c, dir, name, depth, e) == 0)
			return 0;
		if (!is_race(e->code))
			break;
	}
	if (is_race(e->code) && c->kind != COPY_FINAL) {
		memset(e, 0, sizeof *e);
		c->did.changed++;
		return 0;
	}
	return e->msg[0] == '/' ? e->code : err_wrap(e, "/%s", c->path.data);
}

static int copy_names(struct copy *c, const struct file_pair *dir, DIR *names, unsigned depth,
		      struct err *e)
{
	size_t len = c->path.len;
	struct dirent *d;

	while ((errno = 0, d = readdir(names))) {
		int rc;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		buf_printf(&c->path, "%s%s", len ? "/" : "", d->d_name);
		if (buf_error(&c->path) < 0)
			return err_nomem(e);
		rc = copy_name(c, dir, d->d_name, depth, e);
		c->path.len = len;
		c->path.data[len] = '\0';
		if (rc < 0)
			return rc;
	}
	return errno ? err_errno(e, "/%s", c->path.data ? c->path.data : "") : 0;
}

static int walk_dir(struct copy *c, const struct file_pair *dir, unsigned depth, struct err *e)
{
	/* A second descriptor, with a position of its own. */
	int fd = open_beneath(dir->from, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *names;
	int rc;

	if (depth > TREE_MAX_DEPTH)
		rc = err_set(e, -ELOOP, "more than %d nested directories", TREE_MAX_DEPTH);
	else if (fd < 0)
		rc = err_set(e, fd, "%s", strerror(-fd));
	else
		rc = 0;
	if (rc < 0) {
		fd_close(&fd);
		return rc;
	}
	tree_writers_follow_dir(c, dir->from);
	names = fdopendir(fd);
	if (!names) {
		close(fd);
		return err_nomem(e);
	}
	rc = copy_names(c, dir, names, depth, e);
	closedir(names);
	return rc;
}

int tree_stat_top(struct copy *c, struct err *e)
{
	return statx(c->old_dir->fd, "", AT_EMPTY_PATH, STATX_MASK, &c->old_top) < 0
		       ? err_errno(e, "%s", c->old_dir->path)
		       : 0;
}

int tree_walk(struct copy *c, struct err *e)
{
	struct file_pair top = { c->old_dir->fd, c->new_dir->fd };

	buf_clear(&c->path);
	return tree_stat_top(c, e) < 0 ? e->code : walk_dir(c, &top, 0, e);
}

static int set_path(struct copy *c, const char *path, struct err *e)
{
	buf_clear(&c->path);
	buf_put_str(&c->path, path);
	return buf_error(&c->path) < 0 ? err_nomem(e) : 0;
}

int tree_copy_name(struct copy *c, const struct file_pair *dir, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	unsigned depth = 0;

	for (const char *at = path; *at; at++)
		depth += *at == '/';
	if (set_path(c, path, e) < 0)
		return e->code;
	return copy_name(c, dir, slash ? slash + 1 : path, depth, e);
}

int tree_copy_dir_attrs(struct copy *c, const char *path, struct err *e)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	CLEANUP(close_pair)
	struct file_pair dir = { open_beneath(c->old_dir->fd, path, flags, 0), -1 };
	struct at at = { .old_dir = -1, .new_dir = -1, .name = path };

	if (dir.from >= 0)
		dir.to = open_beneath(c->new_dir->fd, path, flags, 0);
	if (dir.from < 0 || dir.to < 0)
		return 0; /* it was removed, or is another file by now */
	if (statx(dir.from, "", AT_EMPTY_PATH, STATX_MASK, &at.x) < 0)
		return err_errno(e, "/%s", path);
	if (!tree_node_at(c, &at.x, &at.node) || !tree_entry_at(c, path, &at.entry))
		return err_nomem(e);
	if (!entry_of(c, &at)->is_ours)
		return 0;
	node_of(c, &at)->is_recent = false;
	if (fill_attrs(c, &at, &dir, &at.x, e) < 0)
		return err_wrap(e, "/%s", path);
	note_ctime(c, node_of(c, &at), &at.x);
	return 0;
}

int tree_copy_unlinked(struct copy *c, const struct reloc_file *f, struct err *e)
{
	struct at at = {
		.old_dir = -1, .new_dir = c->new_dir->fd, .name = f->new_path, .source = f->source
	};

	if (set_path(c, f->new_path, e) < 0)
		return e->code;
	if (statx(AT_FDCWD, f->source, 0, STATX_MASK, &at.x) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s", f->source);
	if (at.x.stx_ino != f->ino)
		return 0; /* closed, and its number reused */
	if (copy_entry(c, &at, 0, e) < 0 && (!is_race(e->code) || c->kind == COPY_FINAL))
		return err_wrap(e, "%s", f->source);
	return 0;
}
