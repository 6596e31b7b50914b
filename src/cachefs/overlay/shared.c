/* SPDX-License-Identifier: MIT */
#include "cachefs/overlay/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/quote.h"
#include "cluster/tree.h"

#define MOUNTS_MAX (16 << 20) /* of mountinfo: some 100,000 mounts */

struct mount {
	char *point; /* borrowed from the text */
	size_t len;  /* of point; 0: "/" */
	dev_t device;
	uint64_t fs;
	bool is_shared; /* by its type */
};

struct shared {
	char *target; /* owned; "" for "/" */
	char **paths; /* [count]; owned, as each; without '/' at the end */
	size_t count;
	const char *mountinfo; /* borrowed */
	int changes;           /* polled for them; -1: they never change */
	pthread_mutex_t lock;
	struct buf text;      /* this and the next three: under lock */
	struct mount *mounts; /* [mount_count], in the order of mountinfo; owned */
	size_t mount_count;
	uint64_t target_fs;
};

/* Source: the documents of each. Of those in user space, "fuse." is cut off. */
static bool is_shared_type(const char *type, const char *source)
{
	static const char *const types[] = {
		"nfs",     "nfs4",     "lustre", "gpfs",      "beegfs",  "ceph", "ceph-fuse",
		"panfs",   "pvfs2",    "afs",    "cifs",      "smb3",    "dvs",  "wekafs",
		"gfs2",    "ocfs2",    "dfuse",  "glusterfs", "juicefs", "mfs",  "lizardfs",
		"quobyte", "orangefs", "coda",   "cvmfs2",    "vast",
	};

	if (strncmp(type, "fuse.", strlen("fuse.")) == 0)
		type += strlen("fuse.");
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return strcmp(type, "fuse") == 0 && strcmp(source, "cvmfs2") == 0;
}

static uint64_t name_fs(const char *type, const char *source, const char *root)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	uint64_t hash;

	buf_printf(&text, "%s\n%s\n%s", type, source, root);
	hash = text.data ? cluster_path_hash(text.data, text.len) : 0;
	return hash ? hash : 1;
}

/* Cuts the line up. False: not a line of mountinfo. Source: proc(5). */
static bool read_mount(char *line, struct mount *ret)
{
	char *type = strstr(line, " - "), *root, *source;
	unsigned major, minor;
	int at = 0;

	if (!type || sscanf(line, "%*u %*u %u:%u %n", &major, &minor, &at) < 2 || !at)
		return false;
	root = line + at;
	ret->point = root + strcspn(root, " ");
	if (!*ret->point)
		return false;
	*ret->point++ = '\0';
	ret->point[strcspn(ret->point, " ")] = '\0';
	type += strlen(" - ");
	source = type + strcspn(type, " ");
	if (*source)
		*source++ = '\0';
	source[strcspn(source, " ")] = '\0';
	quote_undo_octal(root);
	quote_undo_octal(source);
	ret->len = quote_undo_octal(ret->point);
	if (ret->len == 1)
		ret->len = 0; /* "/" */
	ret->device = makedev(major, minor);
	ret->fs = name_fs(type, source, root);
	ret->is_shared = is_shared_type(type, source);
	return true;
}

/* Is path the folder prefix, or below it? */
static bool is_below(const char *path, const char *prefix, size_t len)
{
	return strncmp(path, prefix, len) == 0 && (path[len] == '/' || !path[len]);
}

/* Under lock: the mount that has the path, which is absolute. NULL: none is known. */
static const struct mount *mount_of(const struct shared *s, const char *path)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < s->mount_count; i++) {
		const struct mount *m = &s->mounts[i];

		if (is_below(path, m->point, m->len) && (!best || m->len >= best->len))
			best = m;
	}
	return best;
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines + 1;
}

/* Under lock. What was known stays if they cannot be read. */
static int read_mounts(struct shared *s, struct err *e)
{
	struct buf text = { 0 };
	struct mount *mounts = NULL;
	const struct mount *top;
	int rc = file_read_small(s->mountinfo, MOUNTS_MAX, &text, e);

	if (rc == 0) {
		mounts = calloc(count_lines(text.data ? text.data : ""), sizeof *mounts);
		rc = mounts && text.data ? 0 : err_nomem(e);
	}
	if (rc < 0) {
		free(mounts);
		buf_fini(&text);
		return rc;
	}
	buf_fini(&s->text);
	free(s->mounts);
	s->text = text;
	s->mounts = mounts;
	s->mount_count = 0;
	for (char *line = text.data, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (read_mount(line, &mounts[s->mount_count]))
			s->mount_count++;
	}
	top = mount_of(s, s->target);
	s->target_fs = top ? top->fs : 1;
	return 0;
}

/* Under lock. The kernel signals a change as an error condition. Source: proc(5). */
static void follow_changes(struct shared *s)
{
	struct pollfd poller = { .fd = s->changes, .events = POLLPRI };
	struct err e = { 0 };

	if (s->changes >= 0 && poll(&poller, 1, 0) > 0)
		(void)!read_mounts(s, &e);
}

static int copy_paths(struct shared *s, const struct shared_opts *o, struct err *e)
{
	s->target = strdup(strcmp(o->target, "/") == 0 ? "" : o->target);
	s->paths = calloc(o->count + 1, sizeof *s->paths);
	if (!s->target || !s->paths)
		return err_nomem(e);
	for (size_t i = 0; i < o->count; i++) {
		size_t len = strlen(o->paths[i]);

		if (o->paths[i][0] != '/')
			return err_usage(e, "--shared: '%s' is not an absolute path", o->paths[i]);
		while (len && o->paths[i][len - 1] == '/')
			len--;
		s->paths[i] = strndup(o->paths[i], len);
		if (!s->paths[i])
			return err_nomem(e);
		s->count++;
	}
	if (*s->target) {
		s->paths[s->count] = strdup(s->target);
		if (!s->paths[s->count])
			return err_nomem(e);
		s->count++;
	}
	return 0;
}

int shared_open(const struct shared_opts *o, struct shared **ret, struct err *e)
{
	struct shared *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return err_nomem(e);
	pthread_mutex_init(&s->lock, NULL);
	s->changes = -1;
	s->mountinfo = o->mountinfo ? o->mountinfo : "/proc/self/mountinfo";
	rc = copy_paths(s, o, e);
	if (rc == 0 && !o->mountinfo)
		s->changes = open(s->mountinfo, O_RDONLY | O_CLOEXEC);
	if (rc == 0)
		rc = read_mounts(s, e);
	if (rc < 0) {
		shared_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void shared_close(struct shared *s)
{
	if (!s)
		return;
	fd_close(&s->changes);
	pthread_mutex_destroy(&s->lock);
	for (size_t i = 0; i < s->count; i++)
		free(s->paths[i]);
	free(s->paths);
	free(s->target);
	free(s->mounts);
	buf_fini(&s->text);
	free(s);
}

static int make_absolute(const struct shared *s, const char *path, struct buf *ret)
{
	buf_put_str(ret, s->target);
	if (*path)
		buf_put_byte(ret, '/');
	buf_put_str(ret, path);
	return buf_error(ret);
}

/* Did the user call it shared, with a path at least as long as this mount's? */
static bool is_named(const struct shared *s, const char *path, size_t mount_len)
{
	for (size_t i = 0; i < s->count; i++) {
		size_t len = strlen(s->paths[i]);

		if (len >= mount_len && is_below(path, s->paths[i], len))
			return true;
	}
	return false;
}

bool shared_has(struct shared *s, const char *path)
{
	CLEANUP(buf_fini) struct buf full = { 0 };
	const struct mount *m;
	bool has;

	if (make_absolute(s, path, &full) < 0)
		return false;
	pthread_mutex_lock(&s->lock);
	follow_changes(s);
	m = mount_of(s, full.data);
	has = (m && m->is_shared) || is_named(s, full.data, m ? m->len : 0);
	pthread_mutex_unlock(&s->lock);
	return has;
}

bool shared_has_mounts(struct shared *s, const char *path)
{
	CLEANUP(buf_fini) struct buf full = { 0 };
	bool has = false;

	if (make_absolute(s, path, &full) < 0)
		return true;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->mount_count && !has; i++)
		has = s->mounts[i].len > full.len &&
		      is_below(s->mounts[i].point, full.data, full.len);
	pthread_mutex_unlock(&s->lock);
	return has;
}

/* Several mounts of a device may have different roots: the one that has the target, else the one
 * whose path is smallest, which is the same one on all nodes. */
uint64_t shared_fs(void *shared, dev_t device)
{
	struct shared *s = shared;
	const struct mount *best = NULL, *top;
	uint64_t fs;

	pthread_mutex_lock(&s->lock);
	top = mount_of(s, s->target);
	if (top && top->device == device)
		best = top;
	for (size_t i = 0; i < s->mount_count && (!best || best != top); i++) {
		const struct mount *m = &s->mounts[i];

		if (m->device == device && (!best || strcmp(m->point, best->point) < 0))
			best = m;
	}
	fs = best ? best->fs : s->target_fs;
	pthread_mutex_unlock(&s->lock);
	return fs;
}
