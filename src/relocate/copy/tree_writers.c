/* SPDX-License-Identifier: MIT */
/*
 * Which files this machine has changed, where no time stamp proves it: the server of a network file
 * system has a clock of its own, and may tell the times of a change later. The kernel reports what
 * is written through descriptors of this machine: a watch of each directory reports it by name, and
 * a watch of each file that the job has open for writing, which may have no name any more.
 *
 * Source: inotify(7).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "relocate/copy/copy_internal.h"

#define EVENTS 65536 /* bytes read at a time */
#define FILE_CHANGES (IN_MODIFY | IN_ATTRIB)
#define DIR_CHANGES \
	(FILE_CHANGES | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF | IN_ONLYDIR)

/* What a watch is of; RELOC_NONE: not of that. Its number is the row: the kernel counts from 1. */
struct writers_row {
	uint32_t node; /* a file: row of nodes */
	uint32_t dir;  /* a directory: id of its path in writers_dirs */
};

void tree_writers_begin(struct copy *c)
{
	if (!c->old_dir->writes_at_close)
		return;
	c->writers_dirs = strtab_new();
	if (c->writers_dirs)
		c->writers_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

void tree_writers_end(struct copy *c)
{
	fd_close(&c->writers_fd);
	c->writers_fd = -1;
	strtab_free(c->writers_dirs);
	c->writers_dirs = NULL;
	rows_fini(&c->writers);
}

/* NULL: not watched. */
static struct writers_row *watch(struct copy *c, const char *path, uint32_t changes)
{
	int wd = inotify_add_watch(c->writers_fd, path, changes);

	while (wd >= 0 && c->writers.count <= (size_t)wd) {
		struct writers_row *row = rows_add(&c->writers, sizeof *row);

		if (!row)
			return NULL;
		*row = (struct writers_row){ RELOC_NONE, RELOC_NONE };
	}
	return wd < 0 ? NULL : (struct writers_row *)c->writers.data + wd;
}

/* A file that is watched from now on may have changed before. Without a watch the pause compares
 * it. */
static void follow(struct copy *c, const struct reloc_file *f)
{
	uint32_t node;
	struct tree_node *n = tree_node_of(c, f, &node);
	struct writers_row *row = n && !n->is_followed ? watch(c, f->source, FILE_CHANGES) : NULL;

	if (!row)
		return;
	row->node = node;
	n->is_followed = n->is_recent = true;
}

void tree_writers_follow(struct copy *c, const struct reloc_inventory *s)
{
	for (uint32_t i = 0; c->writers_fd >= 0 && i < s->file_count; i++)
		if (s->files[i].source && tree_has_writer(s, i))
			follow(c, &s->files[i]);
}

void tree_writers_follow_dir(struct copy *c, int fd)
{
	struct writers_row *row;
	char link[64];

	if (c->writers_fd < 0)
		return;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	row = watch(c, link, DIR_CHANGES);
	if (row)
		row->dir = strtab_intern(c->writers_dirs, c->path.data ? c->path.data : "",
					 c->path.len);
}

static void note_all(struct copy *c)
{
	struct tree_node *nodes = c->nodes.data;

	for (size_t i = 0; i < c->nodes.count; i++)
		nodes[i].is_recent = true;
}

/* The file has, or had, that name. A name that is new leads to a file that may have had others. */
static void note_name(struct copy *c, const char *path, uint32_t mask)
{
	uint32_t row = strtab_find(c->paths, path, strlen(path));
	struct statx x;

	if (row != STRTAB_NONE && row < c->entries.count) {
		const struct tree_entry *entry = (struct tree_entry *)c->entries.data + row;

		if (entry->is_made && entry->node != RELOC_NONE)
			((struct tree_node *)c->nodes.data + entry->node)->is_recent = true;
	}
	if ((mask & (IN_CREATE | IN_MOVED_TO)) &&
	    statx(c->old_dir->fd, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &x) == 0) {
		struct tree_node *n = tree_node_find(c, &x);

		if (n)
			n->is_recent = true;
	}
}

/* When the file is gone, another one may have its number. */
static void note_file(struct copy *c, uint32_t node, uint32_t mask)
{
	struct tree_node *n = (struct tree_node *)c->nodes.data + node;

	n->is_recent = true;
	n->is_followed = !(mask & IN_IGNORED);
}

/* A directory that moved has another path than its row, and so has what is below it. */
static void note_event(struct copy *c, const struct inotify_event *event, const char *name)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct writers_row *row;

	if (event->mask & (IN_Q_OVERFLOW | IN_MOVE_SELF))
		note_all(c);
	if (event->wd < 0 || (size_t)event->wd >= c->writers.count)
		return;
	row = (struct writers_row *)c->writers.data + event->wd;
	if (row->node != RELOC_NONE)
		note_file(c, row->node, event->mask);
	if (event->mask & IN_IGNORED)
		*row = (struct writers_row){ RELOC_NONE, RELOC_NONE };
	if (row->dir == RELOC_NONE || !event->len)
		return;
	buf_put_str(&path, strtab_get(c->writers_dirs, row->dir).ptr);
	buf_printf(&path, "%s%s", path.len ? "/" : "", name);
	if (buf_error(&path) < 0)
		note_all(c);
	else
		note_name(c, path.data, event->mask);
}

void tree_writers_find(struct copy *c)
{
	char events[EVENTS];
	ssize_t len;

	while (c->writers_fd >= 0 && (len = read(c->writers_fd, events, sizeof events)) > 0) {
		struct inotify_event event;

		for (size_t at = 0; at + sizeof event <= (size_t)len;
		     at += sizeof event + event.len) {
			memcpy(&event, events + at, sizeof event);
			note_event(c, &event, events + at + sizeof event);
		}
	}
}
