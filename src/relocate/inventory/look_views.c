/* SPDX-License-Identifier: MIT */
/*
 * How a process sees mounts that has another mount namespace, or another root directory: which of
 * its files are OLD's, by the mount that it has them from, and where NEW is for it.
 *
 * Source: proc(5), mountinfo; what its links in /proc tell begins at the root of its namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "relocate/inventory/look.h"

struct view {
	uint64_t root_ino, root_mnt; /* its root directory; mounts have one number everywhere */
	char root[PATH_MAX];         /* where that is in its namespace; "/": at the top */
	struct mounts mounts;        /* as paths below the root directory */
	const char *new_path;        /* NEW there; NULL: it is not to be seen */
};

void look_views_fini(struct look *l)
{
	struct view *all = l->views.data;

	for (size_t i = 0; i < l->views.count; i++)
		mounts_fini(&all[i].mounts);
	rows_fini(&l->views);
}

/* Where a path of a mount is in its file system. */
static int path_in_storage(char out[PATH_MAX], const struct mount *m, const char *path)
{
	const char *below = m ? place_path_below(m->point, path) : NULL;
	const char *root = m && strcmp(m->root, "/") != 0 ? m->root : "";

	if (!below)
		return -1;
	return snprintf(out, PATH_MAX, "%s%s%s", root, *below || !*root ? "/" : "", below) <
			       PATH_MAX
		       ? 0
		       : -1;
}

/* The same of a place as we see it. */
static int place_in_storage(char out[PATH_MAX], const struct look *l, const struct reloc_place *p)
{
	return path_in_storage(out, mounts_find(&l->mounts, p->mnt_id), p->path);
}

/* Does path, below the root directory of pid, lead to NEW by the mount? */
static bool leads_to_new(const struct look *l, pid_t pid, const char *path, uint64_t mount)
{
	const struct reloc_place *place = l->ask->new_place;
	char link[PROC_PATH + PATH_MAX];
	struct statx x;

	snprintf(link, sizeof link, "/proc/%d/root%s", (int)pid, path);
	return statx(AT_FDCWD, link, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_MNT_ID, &x) == 0 &&
	       x.stx_ino == place->ino && x.stx_dev_major == place->st_dev_major &&
	       x.stx_dev_minor == place->st_dev_minor && x.stx_mnt_id == mount;
}

static void find_new(struct look *l, struct view *v, pid_t pid)
{
	const struct reloc_place *place = l->ask->new_place;
	const struct mount *all = v->mounts.rows.data;
	char there[PATH_MAX], path[2 * PATH_MAX];

	if (!place || place_in_storage(there, l, place) < 0)
		return;
	for (size_t i = 0; i < v->mounts.rows.count && !v->new_path; i++) {
		const struct mount *m = &all[i];
		const char *below =
			m->dev_major == place->dev_major && m->dev_minor == place->dev_minor
				? place_path_below(m->root, there)
				: NULL;

		if (!below)
			continue;
		snprintf(path, sizeof path, "%s%s%s", strcmp(m->point, "/") == 0 ? "" : m->point,
			 *below ? "/" : "", below);
		if (strlen(path) < PATH_MAX && leads_to_new(l, pid, path, m->id))
			v->new_path = look_string(l, path);
	}
}

static int add_view(struct look *l, pid_t pid, const struct statx *root, struct err *e)
{
	struct view *v = rows_add(&l->views, sizeof *v);
	char link[PROC_PATH];
	ssize_t len;

	if (!v)
		return err_nomem(e);
	v->root_ino = root->stx_ino;
	v->root_mnt = root->stx_mnt_id;
	snprintf(link, sizeof link, "/proc/%d/root", (int)pid);
	len = readlink(link, v->root, sizeof v->root - 1);
	v->root[len > 0 ? len : 0] = '\0';
	if (mounts_read(&v->mounts, pid, e) < 0)
		return e->code == -ENOMEM ? e->code : 0; /* it has ended */
	find_new(l, v, pid);
	return 0;
}

int look_view(struct look *l, pid_t pid, struct err *e)
{
	struct view *all = l->views.data;
	char link[PROC_PATH];
	struct statx x;

	l->view = NULL;
	snprintf(link, sizeof link, "/proc/%d/root", (int)pid);
	if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &x) < 0 ||
	    (x.stx_ino == l->root_ino && x.stx_mnt_id == l->root_mnt))
		return 0;
	for (size_t i = 0; i < l->views.count && !l->view; i++)
		if (all[i].root_ino == x.stx_ino && all[i].root_mnt == x.stx_mnt_id)
			l->view = &all[i];
	if (l->view)
		return 0;
	if (add_view(l, pid, &x, e) < 0)
		return e->code;
	l->view = (struct view *)l->views.data + l->views.count - 1;
	return 0;
}

const char *look_view_new(const struct look *l)
{
	return l->view->new_path;
}

const struct mount *look_view_mount(const struct look *l, const struct statx *x)
{
	const struct reloc_place *old = l->ask->old_place;
	const struct mount *m = mounts_find(&l->view->mounts, x->stx_mnt_id);

	return m && m->dev_major == old->dev_major && m->dev_minor == old->dev_minor ? m : NULL;
}

const char *look_view_below(const struct look *l, const struct mount *m, const char *link,
			    char there[PATH_MAX])
{
	const char *below = place_path_below(l->view->root, link);
	char old[PATH_MAX], path[PATH_MAX + 32];

	if (!below || place_in_storage(old, l, l->ask->old_place) < 0)
		return NULL;
	snprintf(path, sizeof path, "/%s", below);
	return path_in_storage(there, m, path) < 0 ? NULL : place_path_below(old, there);
}
