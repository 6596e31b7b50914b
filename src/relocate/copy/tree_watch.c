/* SPDX-License-Identifier: MIT */
/*
 * Watches OLD, so that the pause visits only names that have changed since the last pass, not all.
 *
 * The kernel reports every change of the file system by directory and name, and merges what repeats
 * (fanotify). It reports neither writes through mappings, which the inventory names, nor what other
 * machines change: so network file systems are not watched. Without root, or where the kernel does
 * not report names (before Linux 5.9), there is no watch, and the pause visits all names.
 *
 * Source: fanotify(7), open_by_handle_at(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "relocate/copy/copy_internal.h"

#define EVENTS 65536 /* bytes read at a time */
#define CHANGES                                                                              \
	(FAN_CREATE | FAN_DELETE | FAN_MODIFY | FAN_ATTRIB | FAN_MOVED_FROM | FAN_MOVED_TO | \
	 FAN_ONDIR)

void tree_watch_begin(struct copy *c)
{
	int fd;

	if (c->old_dir->writes_at_close)
		return;
	fd = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_REPORT_DFID_NAME |
				   FAN_UNLIMITED_QUEUE | FAN_NONBLOCK | FAN_CLOEXEC,
			   O_RDONLY);
	if (fd < 0)
		return;
	if (fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, CHANGES, c->old_dir->fd, ".") <
	    0) {
		close(fd);
		return;
	}
	c->watch_fd = fd;
}

void tree_watch_end(struct copy *c)
{
	fd_close(&c->watch_fd);
	c->watch_fd = -1;
}

/* The path below OLD of a directory; -1: it is elsewhere, or gone. */
static int find_dir(const struct copy *c, struct file_handle *handle, struct buf *ret)
{
	CLEANUP(fd_close) int fd = open_by_handle_at(c->old_dir->fd, handle, O_PATH | O_CLOEXEC);
	char link[64], path[PATH_MAX];
	const char *below;
	ssize_t len;

	if (fd < 0)
		return -1;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof path - 1);
	if (len <= 0)
		return -1;
	path[len] = '\0';
	below = top_dir_below(c->old_dir, path);
	if (!below)
		return -1;
	buf_clear(ret);
	buf_put_str(ret, below);
	return 0;
}

static int add(struct strtab *t, const struct buf *path)
{
	return buf_error(path) < 0 || strtab_intern(t, path->data, path->len) == STRTAB_NONE
		       ? -ENOMEM
		       : 0;
}

/* A change of a directory itself, or of a name in it. */
static int note_change(struct copy *c, uint64_t mask, struct file_handle *handle, const char *name)
{
	CLEANUP(buf_fini) struct buf path = { 0 };

	if (find_dir(c, handle, &path) < 0)
		return 0;
	if (add(c->changed_dirs, &path) < 0)
		return -ENOMEM;
	if (strcmp(name, ".") == 0)
		return 0;
	buf_printf(&path, "%s%s", path.len ? "/" : "", name);
	/* A directory that was there before: its content has events of its own. */
	if ((mask & FAN_ONDIR) &&
	    !(mask & (FAN_CREATE | FAN_MOVED_TO | FAN_DELETE | FAN_MOVED_FROM)))
		return add(c->changed_dirs, &path);
	return add(c->changed, &path);
}

static int add_node(struct copy *c, uint32_t node)
{
	uint32_t *row = rows_add(&c->changed_nodes, sizeof *row);

	if (!row)
		return -ENOMEM;
	*row = node;
	return 0;
}

/* A file has changed by a name that may be gone by now, while it has others. */
static int note_file(struct copy *c, struct file_handle *handle)
{
	CLEANUP(fd_close) int fd = open_by_handle_at(c->old_dir->fd, handle, O_PATH | O_CLOEXEC);
	struct statx x;
	uint32_t row;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x) < 0 ||
	    S_ISDIR(x.stx_mode))
		return 0;
	return tree_node_at(c, &x, &row) ? add_node(c, row) : -ENOMEM;
}

/* -EOVERFLOW: events were lost. */
static int note_event(struct copy *c, const struct fanotify_event_metadata *m, const char *event)
{
	const char *at = event + sizeof *m, *end = event + m->event_len;
	struct fanotify_event_info_fid info;

	if (m->vers != FANOTIFY_METADATA_VERSION || (m->mask & FAN_Q_OVERFLOW))
		return -EOVERFLOW;
	for (; at + sizeof info + sizeof(struct file_handle) <= end; at += info.hdr.len) {
		union {
			struct file_handle handle;
			char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
		} copy;
		const char *from = at + sizeof info;
		size_t len;
		int rc = 0;

		memcpy(&info, at, sizeof info);
		memcpy(&copy.handle, from, sizeof copy.handle);
		len = sizeof copy.handle + copy.handle.handle_bytes;
		if (len > sizeof copy.bytes || info.hdr.len < sizeof info + len)
			return -EOVERFLOW; /* not as the kernel writes it */
		memcpy(copy.bytes, from, len);
		if (info.hdr.info_type == FAN_EVENT_INFO_TYPE_DFID_NAME)
			rc = note_change(c, m->mask, &copy.handle, from + len);
		else if (info.hdr.info_type == FAN_EVENT_INFO_TYPE_FID)
			rc = note_file(c, &copy.handle);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The kernel aligns events to 4 bytes. */
static int note_events(struct copy *c, const char *events, size_t len)
{
	struct fanotify_event_metadata m;
	int rc = 0;

	for (size_t at = 0; rc == 0 && len - at >= sizeof m; at += m.event_len) {
		memcpy(&m, events + at, sizeof m);
		if (m.event_len < sizeof m || m.event_len > len - at)
			return -EOVERFLOW; /* not as the kernel writes it */
		rc = note_event(c, &m, events + at);
	}
	return rc;
}

static int read_events(struct copy *c, bool is_noted)
{
	char *events = malloc(EVENTS);
	ssize_t len = 0;
	int rc = events ? 0 : -ENOMEM;

	while (rc == 0 && (len = read(c->watch_fd, events, EVENTS)) > 0)
		if (is_noted)
			rc = note_events(c, events, (size_t)len);
	if (rc == 0 && len < 0 && errno != EAGAIN)
		rc = -errno;
	free(events);
	return rc;
}

void tree_watch_forget(struct copy *c)
{
	if (c->watch_fd >= 0 && read_events(c, false) < 0)
		tree_watch_end(c);
}

/* Adds what every pass visits, because neither events nor time stamps show its changes. */
static int add_nodes(struct copy *c)
{
	const struct tree_node *nodes = c->nodes.data;

	for (uint32_t i = 0; i < c->nodes.count; i++)
		if (!S_ISDIR(nodes[i].mode) &&
		    (nodes[i].is_mapped || nodes[i].is_recent || nodes[i].is_linked) &&
		    add_node(c, i) < 0)
			return -ENOMEM;
	return 0;
}

bool tree_watch_find(struct copy *c)
{
	if (c->watch_fd < 0)
		return false;
	strtab_free(c->changed);
	strtab_free(c->changed_dirs);
	c->changed_nodes.count = 0;
	c->changed = strtab_new();
	c->changed_dirs = strtab_new();
	if (c->changed && c->changed_dirs && read_events(c, true) == 0 && add_nodes(c) == 0)
		return true;
	tree_watch_end(c);
	return false;
}

static int compare_paths(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Parents before what is in them. NULL: out of memory. */
static const char **sort_paths(const struct strtab *t)
{
	size_t count = strtab_count(t);
	const char **paths = calloc(count + 1, sizeof *paths);

	for (uint32_t i = 0; paths && i < count; i++)
		paths[i] = strtab_get(t, i).ptr;
	if (paths && count)
		qsort(paths, count, sizeof *paths, compare_paths);
	return paths;
}

static bool is_gone(int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR || rc == -ELOOP;
}

static int remove_gone(struct copy *c, const char *path, struct err *e)
{
	uint32_t row = strtab_find(c->paths, path, strlen(path));
	const struct tree_entry *entry = (struct tree_entry *)c->entries.data + row;

	if (row == STRTAB_NONE || !entry->is_made || entry->pass == c->pass)
		return 0;
	c->did.changed++;
	return tree_remove_all(c, row, e);
}

/* path is not empty. */
static int visit_name(struct copy *c, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	struct file_pair pair = { -1, -1 };
	uint64_t changed = c->did.changed;
	int rc = 0;

	if (!dir)
		return err_nomem(e);
	pair.from = open_beneath(c->old_dir->fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (pair.from >= 0)
		pair.to = open_beneath(c->new_dir->fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (pair.from >= 0 && pair.to < 0)
		rc = err_set(e, pair.to, "/%s: in NEW: %s", dir, strerror(-pair.to));
	else if (pair.from < 0 && !is_gone(pair.from))
		rc = err_set(e, pair.from, "/%s: %s", dir, strerror(-pair.from));
	else if (pair.from >= 0)
		rc = tree_copy_name(c, &pair, path, e);
	fd_close(&pair.from);
	fd_close(&pair.to);
	if (rc == 0)
		rc = remove_gone(c, path, e);
	if (rc == 0 && slash && c->did.changed != changed &&
	    strtab_intern(c->changed_dirs, dir, strlen(dir)) == STRTAB_NONE)
		rc = err_nomem(e);
	free(dir);
	return rc;
}

/* entry: a row. */
static int visit_entry(struct copy *c, uint32_t entry, struct err *e)
{
	char *path = strdup(strtab_get(c->paths, entry).ptr);
	int rc = path ? visit_name(c, path, e) : err_nomem(e);

	free(path);
	return rc;
}

/* A symbolic link with other times counts as a new one: its other names must become names of it. */
static int visit_other_names(struct copy *c, uint32_t row, struct err *e)
{
	const struct tree_node *n = (struct tree_node *)c->nodes.data + row;

	if (!n->is_linked || S_ISREG(n->mode))
		return 0;
	for (uint32_t i = 0; i < c->entries.count; i++) {
		const struct tree_entry *entry = (struct tree_entry *)c->entries.data + i;

		if (entry->is_made && entry->node == row && entry->pass != c->pass &&
		    visit_entry(c, i, e) < 0)
			return e->code;
	}
	return 0;
}

/* Visits a file by a name that NEW has of it. If that is gone, or another file's by now, by the
 * next one. */
static int visit_node(struct copy *c, uint32_t row, struct err *e)
{
	for (;;) {
		const struct tree_node *n = (struct tree_node *)c->nodes.data + row;
		uint32_t entry = n->entry;

		if (entry == RELOC_NONE || n->pass == c->pass)
			break;
		if (visit_entry(c, entry, e) < 0)
			return e->code;
		n = (struct tree_node *)c->nodes.data + row;
		if (n->entry == entry)
			break;
	}
	return visit_other_names(c, row, e);
}

int tree_visit_changed(struct copy *c, struct err *e)
{
	const char **names = sort_paths(c->changed), **dirs = NULL;
	int rc = names ? tree_stat_top(c, e) : err_nomem(e);

	for (size_t i = 0; rc == 0 && i < strtab_count(c->changed); i++)
		rc = visit_name(c, names[i], e);
	for (size_t i = 0; rc == 0 && i < c->changed_nodes.count; i++)
		rc = visit_node(c, ((const uint32_t *)c->changed_nodes.data)[i], e);
	/* What was done in a directory has changed its times. */
	if (rc == 0 && !(dirs = sort_paths(c->changed_dirs)))
		rc = err_nomem(e);
	for (size_t i = 0; rc == 0 && i < strtab_count(c->changed_dirs); i++)
		rc = *dirs[i] ? tree_copy_dir_attrs(c, dirs[i], e) : 0;
	free(names);
	free(dirs);
	return rc;
}
