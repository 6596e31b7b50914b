/* SPDX-License-Identifier: MIT */
/*
 * The names that a killed move left in NEW become entries. The walk matches an entry with a file of
 * OLD; unmatched entries are removed like files that are gone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "relocate/copy/copy_internal.h"
#include "relocate/copy/move_journal.h"

static int load_dir(struct copy *c, int dir, unsigned depth, struct err *e);

static bool is_lost_and_found(const struct copy *c)
{
	return c->journal.had_lost_found && strcmp(c->path.data, "lost+found") == 0;
}

static int load_name(struct copy *c, int dir, const char *name, unsigned depth, struct err *e)
{
	struct tree_entry *entry;
	struct statx x;
	uint32_t row;
	int fd;

	if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &x) < 0)
		return err_errno(e, "%s", c->path.data);
	entry = tree_entry_at(c, c->path.data, &row);
	if (!entry)
		return err_nomem(e);
	*entry = (struct tree_entry){ .mode = x.stx_mode,
				      .node = RELOC_NONE,
				      .is_made = true,
				      .is_ours = !is_lost_and_found(c),
				      .is_linked = x.stx_nlink > 1 };
	c->leftover_inodes++;
	c->leftover_bytes += x.stx_blocks * TREE_SECTOR;
	if (!S_ISDIR(x.stx_mode))
		return 0;
	fd = open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	return fd < 0 ? err_set(e, fd, "%s: %s", c->path.data, strerror(-fd))
		      : load_dir(c, fd, depth + 1, e);
}

static int load_names(struct copy *c, DIR *names, unsigned depth, struct err *e)
{
	size_t len = c->path.len;
	struct dirent *d;

	while ((d = readdir(names))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    (!len && strcmp(d->d_name, MOVE_JOURNAL_NAME) == 0))
			continue;
		buf_printf(&c->path, "%s%s", len ? "/" : "", d->d_name);
		if (buf_error(&c->path) < 0)
			return err_nomem(e);
		if (load_name(c, dirfd(names), d->d_name, depth, e) < 0)
			return e->code;
		c->path.len = len;
		c->path.data[len] = '\0';
	}
	return 0;
}

/* Closes dir. */
static int load_dir(struct copy *c, int dir, unsigned depth, struct err *e)
{
	DIR *names = depth < TREE_MAX_DEPTH ? fdopendir(dir) : NULL;
	int rc;

	if (!names) {
		close(dir);
		return depth < TREE_MAX_DEPTH ? err_nomem(e)
					      : err_set(e, -ELOOP, "%s: too deep", c->path.data);
	}
	rc = load_names(c, names, depth, e);
	closedir(names);
	return rc;
}

int tree_load_leftovers(struct copy *c, struct err *e)
{
	int fd = open_beneath(c->new_dir->fd, ".", O_RDONLY | O_DIRECTORY, 0);

	buf_clear(&c->path);
	if (fd < 0)
		return err_set(e, fd, "%s: %s", c->new_dir->path, strerror(-fd));
	return load_dir(c, fd, 0, e) < 0 ? err_wrap(e, "%s", c->new_dir->path) : 0;
}

static bool is_same_kind(const struct tree_entry *entry, const struct tree_node *n,
			 const struct statx *x)
{
	if ((entry->mode ^ x->stx_mode) & S_IFMT)
		return false;
	/* The links among leftovers are unknown, so files with several names are copied again. */
	return S_ISDIR(x->stx_mode) || (S_ISREG(x->stx_mode) && x->stx_nlink <= 1 &&
					!entry->is_linked && n->entry == RELOC_NONE);
}

void tree_match_leftover(struct copy *c, uint32_t entry_row, uint32_t node_row,
			 const struct statx *x)
{
	struct tree_entry *entry = (struct tree_entry *)c->entries.data + entry_row;
	struct tree_node *n = (struct tree_node *)c->nodes.data + node_row;

	if (!entry->is_made || entry->node != RELOC_NONE || !is_same_kind(entry, n, x))
		return;
	entry->node = node_row;
	entry->copy = ++n->copy;
	n->entry = entry_row;
	n->names = 1;
	n->was_leftover = true;
}
