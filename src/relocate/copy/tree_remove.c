/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "relocate/copy/copy_internal.h"
#include "target/proc.h"

int tree_open_parent(const struct copy *c, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char *dir;
	int fd;

	*ret_name = slash ? slash + 1 : path;
	if (!slash)
		return open_beneath(c->new_dir->fd, ".", O_PATH | O_DIRECTORY, 0);
	dir = strndup(path, (size_t)(slash - path));
	if (!dir)
		return -ENOMEM;
	fd = open_beneath(c->new_dir->fd, dir, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	free(dir);
	return fd;
}

/* Another name of the node that NEW has. RELOC_NONE: its next name becomes a new copy. */
static uint32_t find_other_name(const struct copy *c, uint32_t node)
{
	const struct tree_entry *entries = c->entries.data;
	const struct tree_node *n = (struct tree_node *)c->nodes.data + node;

	for (uint32_t i = 0; n->names && i < c->entries.count; i++)
		if (entries[i].is_made && entries[i].node == node && entries[i].copy == n->copy)
			return i;
	return RELOC_NONE;
}

static void drop_entry(struct copy *c, uint32_t row)
{
	struct tree_entry *entry = (struct tree_entry *)c->entries.data + row;
	struct tree_node *nodes = (struct tree_node *)c->nodes.data;

	entry->is_made = false;
	if (entry->node == RELOC_NONE)
		return;
	if (entry->copy == nodes[entry->node].copy)
		nodes[entry->node].names--;
	if (nodes[entry->node].entry == row)
		nodes[entry->node].entry = find_other_name(c, entry->node);
}

/* A user who is not root may lack write permission in directories of his own. */
static int unlink_closed(int dir, const char *name, int flags)
{
	char path[PROC_PATH];
	struct stat st;
	int rc, saved;

	snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
	if (fstat(dir, &st) < 0 || chmod(path, (st.st_mode & 07777) | 0700) < 0)
		return -1;
	rc = unlinkat(dir, name, flags);
	saved = errno;
	(void)!chmod(path, st.st_mode & 07777);
	errno = saved;
	return rc;
}

static int unlink_from(int dir, const char *name, bool is_dir)
{
	int flags = is_dir ? AT_REMOVEDIR : 0;

	if (unlinkat(dir, name, flags) == 0)
		return 0;
	if (errno == EACCES)
		return unlink_closed(dir, name, flags);
	if (errno != EPERM)
		return -1;
	inode_flags_unlock(dir, name);
	return unlinkat(dir, name, flags);
}

int tree_remove(struct copy *c, uint32_t row, struct err *e)
{
	const struct tree_entry *entry = (struct tree_entry *)c->entries.data + row;
	const char *path = strtab_get(c->paths, row).ptr, *name;
	int dir, rc;

	if (!entry->is_made)
		return 0;
	dir = tree_open_parent(c, path, &name);
	if (dir < 0 && dir != -ENOENT)
		return err_set(e, dir, "remove %s: %s", path, strerror(-dir));
	rc = dir < 0 || !entry->is_ours ? 0 : unlink_from(dir, name, S_ISDIR(entry->mode));
	if (rc < 0 && errno == ENOENT)
		rc = 0;
	if (rc < 0)
		err_errno(e, "remove %s", path);
	if (dir >= 0)
		close(dir);
	if (rc == 0)
		drop_entry(c, row);
	return rc < 0 ? e->code : 0;
}

/* Entries below a directory have higher rows, so this removes them before it. */
int tree_remove_all(struct copy *c, uint32_t row, struct err *e)
{
	const struct tree_entry *entries = c->entries.data;
	struct str top = strtab_get(c->paths, row);

	for (uint32_t i = (uint32_t)c->entries.count; S_ISDIR(entries[row].mode) && i-- > 0;) {
		struct str path = strtab_get(c->paths, i);

		if (entries[i].is_made && path.len > top.len && path.ptr[top.len] == '/' &&
		    memcmp(path.ptr, top.ptr, top.len) == 0 && tree_remove(c, i, e) < 0)
			return e->code;
	}
	return tree_remove(c, row, e);
}

/* Removing a name changed the times of its directory. If this fails, the directory is gone or the
 * next pass visits it. */
static void put_times(const struct copy *c, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path)) : NULL;
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	int from = dir ? open_beneath(c->old_dir->fd, dir, flags, 0) : -1;
	int to = from < 0 ? -1 : open_beneath(c->new_dir->fd, dir, flags, 0);
	struct statx x;

	if (to >= 0 && statx(from, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x) == 0)
		(void)attrs_set_times(to, &x);
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	free(dir);
}

int tree_remove_stale(struct copy *c, struct err *e)
{
	const struct tree_entry *entries = c->entries.data;

	for (uint32_t i = (uint32_t)c->entries.count; i-- > 0;) {
		if (!entries[i].is_made || entries[i].pass == c->pass ||
		    (c->is_visit && !entries[i].is_hidden))
			continue;
		if (tree_remove(c, i, e) < 0)
			return e->code;
		c->did.changed++;
		put_times(c, strtab_get(c->paths, i).ptr);
	}
	return 0;
}
