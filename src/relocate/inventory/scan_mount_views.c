/* SPDX-License-Identifier: MIT */
/*
 * Mounts as a process with another mount namespace or root directory sees them: which of its files
 * are OLD's, by their mount, and its path of NEW.
 *
 * Source: proc(5), mountinfo. Links in /proc begin at the root of its namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "relocate/inventory/scan_internal.h"

struct mount_view {
	uint64_t root_ino, root_mnt; /* its root directory; mount ids are unique on the machine */
	char root[PATH_MAX];         /* path of the root directory in its namespace; "/": the top */
	struct mounts mounts;        /* paths are below the root directory */
	const char *new_path;        /* path of NEW; NULL: not visible */
};

void scan_views_fini(struct scan *sc)
{
	struct mount_view *all = sc->views.data;

	for (size_t i = 0; i < sc->views.count; i++)
		mounts_fini(&all[i].mounts);
	rows_fini(&sc->views);
}

/* The path inside the file system for a path below a mount point. */
static int path_in_storage(char out[PATH_MAX], const struct mount *m, const char *path)
{
	const char *below = m ? path_below(m->point, path) : NULL;
	const char *root = m && strcmp(m->root, "/") != 0 ? m->root : "";

	if (!below)
		return -1;
	return snprintf(out, PATH_MAX, "%s%s%s", root, *below || !*root ? "/" : "", below) <
			       PATH_MAX
		       ? 0
		       : -1;
}

/* The same for a directory as we see it. */
static int top_dir_in_storage(char out[PATH_MAX], const struct scan *sc, const struct top_dir *p)
{
	return path_in_storage(out, mounts_find(&sc->mounts, p->mnt_id), p->path);
}

/* Does path, below the root directory of pid, lead to NEW through the mount? */
static bool leads_to_new(const struct scan *sc, pid_t pid, const char *path, uint64_t mount)
{
	const struct top_dir *new = sc->opts->new_dir;
	char link[PROC_PATH + PATH_MAX];
	struct statx x;

	snprintf(link, sizeof link, "/proc/%d/root%s", (int)pid, path);
	return statx(AT_FDCWD, link, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_MNT_ID, &x) == 0 &&
	       x.stx_ino == new->ino &&x.stx_dev_major == new->st_dev_major &&x.stx_dev_minor ==
		       new->st_dev_minor &&x.stx_mnt_id == mount;
}

static void find_new(struct scan *sc, struct mount_view *v, pid_t pid)
{
	const struct top_dir *new = sc->opts->new_dir;
	const struct mount *all = v->mounts.rows.data;
	char there[PATH_MAX], path[2 * PATH_MAX];

	if (!new || top_dir_in_storage(there, sc, new) < 0)
		return;
	for (size_t i = 0; i < v->mounts.rows.count && !v->new_path; i++) {
		const struct mount *m = &all[i];
		const char *below = m->dev_major == new->dev_major && m->dev_minor == new->dev_minor
					    ? path_below(m->root, there)
					    : NULL;

		if (!below)
			continue;
		snprintf(path, sizeof path, "%s%s%s", strcmp(m->point, "/") == 0 ? "" : m->point,
			 *below ? "/" : "", below);
		if (strlen(path) < PATH_MAX && leads_to_new(sc, pid, path, m->id))
			v->new_path = scan_string(sc, path);
	}
}

static int add_view(struct scan *sc, pid_t pid, const struct statx *root, struct err *e)
{
	struct mount_view *v = rows_add(&sc->views, sizeof *v);
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
	find_new(sc, v, pid);
	return 0;
}

int scan_set_view(struct scan *sc, pid_t pid, struct err *e)
{
	struct mount_view *all = sc->views.data;
	char link[PROC_PATH];
	struct statx x;

	sc->view = NULL;
	snprintf(link, sizeof link, "/proc/%d/root", (int)pid);
	if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &x) < 0 ||
	    (x.stx_ino == sc->root_ino && x.stx_mnt_id == sc->root_mnt))
		return 0;
	for (size_t i = 0; i < sc->views.count && !sc->view; i++)
		if (all[i].root_ino == x.stx_ino && all[i].root_mnt == x.stx_mnt_id)
			sc->view = &all[i];
	if (sc->view)
		return 0;
	if (add_view(sc, pid, &x, e) < 0)
		return e->code;
	sc->view = (struct mount_view *)sc->views.data + sc->views.count - 1;
	return 0;
}

const char *scan_view_new_path(const struct scan *sc)
{
	return sc->view->new_path;
}

const struct mount *scan_view_mount(const struct scan *sc, const struct statx *x)
{
	const struct top_dir *old = sc->opts->old_dir;
	const struct mount *m = mounts_find(&sc->view->mounts, x->stx_mnt_id);

	return m && m->dev_major == old->dev_major && m->dev_minor == old->dev_minor ? m : NULL;
}

const char *scan_view_below(const struct scan *sc, const struct mount *m, const char *link,
			    char there[PATH_MAX])
{
	const char *below = path_below(sc->view->root, link);
	char old[PATH_MAX], path[PATH_MAX + 32];

	if (!below || top_dir_in_storage(old, sc, sc->opts->old_dir) < 0)
		return NULL;
	snprintf(path, sizeof path, "/%s", below);
	return path_in_storage(there, m, path) < 0 ? NULL : path_below(old, there);
}
