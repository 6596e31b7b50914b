/* SPDX-License-Identifier: MIT */
#include "relocate/copy/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "relocate/copy/copy_internal.h"
#include "relocate/copy/leftovers.h"

#define FLUSH_AT_ONCE ((size_t)64) /* files with writeback in progress */

int64_t tree_ctime_ns(const struct statx *x)
{
	return x->stx_ctime.tv_sec * NS_PER_S + x->stx_ctime.tv_nsec;
}

int tree_check_end(const struct copy *c, struct err *e)
{
	if (c->opts.stop && *c->opts.stop)
		return err_set(e, -EINTR, "interrupted");
	if (c->until_ns && clock_mono_ns() >= c->until_ns)
		return err_set(e, -ETIME, "copying takes too long");
	return 0;
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

struct tree_node *tree_node_find(const struct copy *c, const struct statx *x)
{
	uint64_t id[2] = { x->stx_ino, (uint64_t)x->stx_dev_major << 32 | x->stx_dev_minor };
	uint32_t row = strtab_find(c->node_ids, id, sizeof id);

	return row < c->nodes.count ? (struct tree_node *)c->nodes.data + row : NULL;
}

struct tree_node *tree_node_of(struct copy *c, const struct reloc_file *f, uint32_t *ret_row)
{
	struct statx x = { .stx_ino = f->ino,
			   .stx_dev_major = f->dev_major,
			   .stx_dev_minor = f->dev_minor };

	return tree_node_at(c, &x, ret_row);
}

static int check_no_names(const struct top_dir *new, const char *below, struct err *e)
{
	int fd = open_beneath(new->fd, below, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
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

/* The walk needs two descriptors for each level of directories. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* During the copy nobody else may read NEW or plant a link in it. */
static int restrict_top(const struct copy *c, struct err *e)
{
	const struct top_dir *new = c->new_dir;

	if (fchown(new->fd, geteuid(), getegid()) < 0 || fchmod(new->fd, 0700) < 0)
		return err_errno(e, "%s", new->path);
	return 0;
}

/* A journal in OLD belongs to another move. */
static int check_old(const struct copy *c, struct err *e)
{
	if (faccessat(c->old_dir->fd, MOVE_JOURNAL_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(
			e, -EBUSY,
			"%s/" MOVE_JOURNAL_NAME
			" records a killed move to that directory: finish it first, or remove the file",
			c->old_dir->path);
	return 0;
}

/* Checks that NEW is empty or has leftovers of a move from here. Changes nothing. */
static int check_new(struct copy *c, struct err *e)
{
	enum leftovers left;

	if (check_old(c, e) < 0 || leftovers_find(c->old_dir, c->new_dir, &left, e) < 0)
		return e->code;
	if (left == LEFTOVERS_MOVED)
		return err_set(e, -EBUSY, "a killed move has moved the job to %s already",
			       c->new_dir->path);
	if (left == LEFTOVERS_NONE)
		return check_no_names(c->new_dir, ".", e);
	if (move_journal_read(&c->journal, c->new_dir, e) < 0)
		return e->code;
	c->has_journal = true;
	return tree_load_leftovers(c, e);
}

static int write_journal(struct copy *c, struct err *e)
{
	if (c->has_journal)
		return move_journal_take_over(c->new_dir, e);
	if (move_journal_fill(&c->journal, c->old_dir, c->new_dir, e) < 0 ||
	    move_journal_create(&c->journal, c->new_dir, e) < 0)
		return e->code;
	c->has_journal = true;
	return 0;
}

static int prepare(struct copy *c, const struct reloc_inventory *s, struct err *e)
{
	raise_limit();
	if (check_new(c, e) < 0 || tree_check_space(c, s, e) < 0 || write_journal(c, e) < 0)
		return e->code;
	return restrict_top(c, e);
}

static struct copy *copy_new(const struct top_dir *old_dir, const struct top_dir *new_dir,
			     const struct copy_opts *opts)
{
	struct copy *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->old_dir = old_dir;
	c->new_dir = new_dir;
	c->paths = strtab_new();
	c->node_ids = strtab_new();
	c->opts = *opts;
	c->watch_fd = c->writers_fd = c->device_fd = -1;
	c->block = malloc(TREE_BLOCK);
	c->other = malloc(TREE_BLOCK);
	if (c->paths && c->node_ids && c->block && c->other)
		return c;
	copy_close(c);
	return NULL;
}

int copy_check(const struct top_dir *old_dir, const struct top_dir *new_dir,
	       const struct reloc_inventory *s, uint64_t *ret_bytes, struct err *e)
{
	struct copy *c = copy_new(old_dir, new_dir, &(struct copy_opts){ 0 });
	int rc = 0;

	if (!c)
		return err_nomem(e);
	raise_limit();
	/* With was_made, NEW does not exist yet and new_dir is its parent. */
	if (!new_dir->was_made)
		rc = check_new(c, e);
	if (rc == 0)
		rc = tree_check_space(c, s, e);
	*ret_bytes = c->total_bytes;
	copy_close(c);
	return rc;
}

/* Returns e->code. */
static int give_up(struct copy *c, const struct err *e)
{
	struct err why = { 0 };

	if (copy_undo(c, &why) < 0)
		log_msg(LOG_WARN, "relocate", "%s", why.msg);
	copy_close(c);
	return e->code;
}

int copy_open(struct copy **ret, const struct top_dir *old_dir, const struct top_dir *new_dir,
	      const struct reloc_inventory *s, const struct copy_opts *opts, struct err *e)
{
	struct copy *c = copy_new(old_dir, new_dir, opts);

	if (!c)
		return err_nomem(e);
	if (prepare(c, s, e) < 0)
		return give_up(c, e);
	*ret = c;
	return 0;
}

static int prepare_cached(struct copy *c, struct err *e)
{
	enum leftovers left;

	if (leftovers_find(c->old_dir, c->new_dir, &left, e) < 0)
		return e->code;
	if (left != LEFTOVERS_NONE)
		return err_set(e, -EBUSY, "%s has leftovers of a killed move (--undo removes them)",
			       c->new_dir->path);
	if (statx(c->old_dir->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
		  &c->old_top) < 0)
		return err_errno(e, "%s", c->old_dir->path);
	if (check_no_names(c->new_dir, ".", e) < 0 || write_journal(c, e) < 0)
		return e->code;
	return restrict_top(c, e);
}

int copy_open_cached(struct copy **ret, const struct top_dir *old_dir,
		     const struct top_dir *new_dir, const struct copy_opts *opts, struct err *e)
{
	struct copy *c = copy_new(old_dir, new_dir, opts);

	if (!c)
		return err_nomem(e);
	if (prepare_cached(c, e) < 0)
		return give_up(c, e);
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
	rows_fini(&c->unflushed);
	rows_fini(&c->late);
	map_fini(&c->hung);
	strtab_free(c->changed);
	strtab_free(c->changed_dirs);
	rows_fini(&c->changed_nodes);
	tree_watch_end(c);
	tree_writers_end(c);
	buf_fini(&c->path);
	move_journal_fini(&c->journal);
	rows_fini(&c->nodes);
	free(c->block);
	free(c->other);
	if (c->device_fd >= 0)
		close(c->device_fd);
	free(c);
}

enum { WRITES_NOT, WRITES_APPENDING, WRITES_ANYWHERE };

/* How the descriptions of each file write to it. NULL: out of memory. */
static unsigned char *find_writers(const struct reloc_inventory *s)
{
	unsigned char *how = calloc(s->file_count + 1, 1);

	for (size_t i = 0; how && i < s->desc_count; i++) {
		unsigned flags = s->descs[i].flags;
		unsigned char is = flags & O_APPEND ? WRITES_APPENDING : WRITES_ANYWHERE;

		if ((flags & O_ACCMODE) != O_RDONLY && how[s->descs[i].file] < is)
			how[s->descs[i].file] = is;
	}
	return how;
}

/* Notes how the job uses a file. A new kind of use may need a comparison that was skipped. */
static void note_use(const struct copy *c, struct tree_node *n, bool is_mapped, int how,
		     bool *must_rescan)
{
	bool is_appended = how == WRITES_APPENDING;
	bool is_unknown = c->kind == COPY_FINAL && c->old_dir->writes_at_close &&
			  how != WRITES_NOT && !n->is_followed && n->fill_pass != c->pass;

	if ((is_mapped && !n->is_mapped) || is_unknown ||
	    (c->opts.trusts_append && n->is_appended && !is_appended))
		n->is_recent = *must_rescan = true;
	n->is_mapped |= is_mapped;
	n->is_appended = is_appended;
}

static int note_uses(struct copy *c, const struct reloc_inventory *s, bool *must_rescan,
		     struct err *e)
{
	unsigned char *how = find_writers(s);

	if (!how)
		return err_nomem(e);
	*must_rescan = false;
	for (uint32_t i = 0; i < s->file_count; i++) {
		const struct reloc_file *f = &s->files[i];
		uint32_t row;
		struct tree_node *n = tree_node_of(c, f, &row);

		if (!n) {
			free(how);
			return err_nomem(e);
		}
		note_use(c, n, f->uses & RELOC_USE_MAPPED_WRITABLE, how[i], must_rescan);
	}
	free(how);
	return 0;
}

static void begin_pass(struct copy *c, enum copy_kind kind, int64_t scanned_ns)
{
	c->kind = kind;
	c->pass++;
	c->scanned_ns = scanned_ns;
	c->began_ns = clock_mono_ns();
	c->paced_bytes = 0;
	c->is_visit = false;
	memset(&c->did, 0, sizeof c->did);
}

static int end_pass(struct copy *c, const struct reloc_inventory *s, struct copy_pass *ret,
		    struct err *e)
{
	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].is_deleted && s->files[i].source && !S_ISDIR(s->files[i].mode) &&
		    tree_copy_unlinked(c, &s->files[i], e) < 0)
			return e->code;
	if (tree_remove_stale(c, e) < 0)
		return e->code;
	c->did.took_ns = clock_mono_ns() - c->began_ns;
	*ret = c->did;
	return 0;
}

int copy_pass_run(struct copy *c, const struct reloc_inventory *s, enum copy_kind kind,
		  struct copy_pass *ret, struct err *e)
{
	bool must_rescan;

	begin_pass(c, kind, clock_wall_ns() - s->took_ns);
	if (c->pass == 1) {
		tree_watch_begin(c);
		tree_writers_begin(c);
	}
	tree_watch_forget(c);
	tree_writers_follow(c, s);
	if (note_uses(c, s, &must_rescan, e) < 0 || tree_walk(c, e) < 0)
		return e->code;
	return end_pass(c, s, ret, e);
}

int copy_final_walk(struct copy *c, struct err *e)
{
	begin_pass(c, COPY_FINAL, clock_wall_ns());
	tree_writers_find(c);
	c->is_visit = tree_watch_find(c);
	return c->is_visit ? tree_visit_changed(c, e) : tree_walk(c, e);
}

/* A file may be in use in another way than at the last scan: then it is looked at again. */
int copy_final_end(struct copy *c, const struct reloc_inventory *s, struct copy_pass *ret,
		   struct err *e)
{
	bool must_rescan;

	if (note_uses(c, s, &must_rescan, e) < 0)
		return e->code;
	if (must_rescan) {
		c->pass++;
		c->is_visit = c->is_visit && tree_watch_find(c);
		if ((c->is_visit ? tree_visit_changed(c, e) : tree_walk(c, e)) < 0)
			return e->code;
	}
	return end_pass(c, s, ret, e);
}

void copy_set_deadline(struct copy *c, int64_t until_ns)
{
	c->until_ns = until_ns;
}

bool copy_is_watched(const struct copy *c)
{
	return c->watch_fd >= 0;
}

void copy_track_dirty(struct copy *c, const struct reloc_inventory *s)
{
	tree_track_dirty(c, s);
}

bool copy_tracking_is_stale(const struct copy *c)
{
	return tree_tracking_is_stale(c);
}

int copy_finish(struct copy *c, const struct reloc_inventory *s, struct err *e)
{
	struct file_pair top = { c->old_dir->fd, c->new_dir->fd };
	uint32_t late; /* never of the top directory: the journal must be removed from it */

	if (move_journal_set_moving(c->new_dir, s, e) < 0)
		return e->code;
	if (tree_copy_flags(c, &top, &late, e) < 0 || attrs_copy(&top, &c->old_top, e) < 0)
		return err_wrap(e, "%s", c->new_dir->path);
	return 0;
}

int copy_commit(struct copy *c, struct err *e)
{
	const struct tree_entry *entries = c->entries.data;

	for (uint32_t i = 0; i < c->entries.count; i++)
		if (entries[i].is_made && entries[i].is_hidden && tree_remove(c, i, e) < 0)
			return e->code;
	if (move_journal_remove(c->new_dir, e) < 0)
		return e->code;
	return attrs_set_times(c->new_dir->fd, &c->old_top) < 0
		       ? err_errno(e, "%s", c->new_dir->path)
		       : 0;
}

void copy_end_watch(struct copy *c)
{
	tree_watch_end(c);
}

int copy_sync(struct copy *c, struct err *e)
{
	c->unflushed.count = 0;
	return syncfs(c->new_dir->fd) < 0 ? err_errno(e, "%s", c->new_dir->path) : 0;
}

/* Opens the file and starts writeback. *ret_fd -1: the file was removed. */
static int start_flush(const struct copy *c, const struct tree_node *n, int *ret_fd, struct err *e)
{
	const char *path;

	*ret_fd = -1;
	if (n->entry == RELOC_NONE ||
	    !S_ISREG(n->mode)) /* a FIFO may have its inode number by now */
		return 0;
	path = strtab_get(c->paths, n->entry).ptr;
	*ret_fd = open_beneath(c->new_dir->fd, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
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

/* Storage writes many files at once as fast as one. */
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

/* Flushes the content of each file; one fsync(2) then commits the file system's journal. */
int copy_flush(struct copy *c, struct err *e)
{
	const uint32_t *nodes = c->unflushed.data;
	size_t count = c->unflushed.count;

	for (size_t i = 0; i < count; i += FLUSH_AT_ONCE)
		if (tree_check_end(c, e) < 0 ||
		    flush_some(c, nodes + i, count - i < FLUSH_AT_ONCE ? count - i : FLUSH_AT_ONCE,
			       e) < 0)
			return e->code;
	c->unflushed.count = 0;
	return fsync(c->new_dir->fd) < 0 ? err_errno(e, "%s", c->new_dir->path) : 0;
}

int copy_set_late_flags(struct copy *c, struct err *e)
{
	if (c->late.count == 0)
		return 0;
	return tree_set_late_flags(c, e) < 0 ? e->code : copy_flush(c, e);
}

int copy_undo(struct copy *c, struct err *e)
{
	int rc;

	for (uint32_t i = (uint32_t)c->entries.count; i-- > 0;)
		if (tree_remove(c, i, e) < 0)
			return e->code;
	if (c->has_journal)
		return move_journal_remove(c->new_dir, e) < 0
			       ? e->code
			       : move_journal_restore_top(&c->journal, c->new_dir, e);
	rc = c->new_dir->was_made ? top_dir_remove(c->new_dir) : 0;
	return rc < 0 ? err_set(e, rc, "%s: %s", c->new_dir->path, strerror(-rc)) : 0;
}

int copy_remove_leftovers(const struct top_dir *new_dir, struct err *e)
{
	struct copy *c = copy_new(NULL, new_dir, &(struct copy_opts){ 0 });
	int rc;

	if (!c)
		return err_nomem(e);
	rc = move_journal_read(&c->journal, new_dir, e);
	c->has_journal = rc == 0;
	if (rc == 0 && tree_load_leftovers(c, e) == 0)
		rc = copy_undo(c, e);
	copy_close(c);
	return rc < 0 ? rc : e->code;
}
