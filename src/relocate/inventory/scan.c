/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "relocate/inventory/scan_internal.h"

#define DELETED " (deleted)" /* what /proc adds to the name of an unlinked file */

struct file_id {
	uint64_t ino;
	uint32_t dev_major, dev_minor;
};

static struct file_id make_id(const struct statx *x)
{
	return (struct file_id){ x->stx_ino, x->stx_dev_major, x->stx_dev_minor };
}

static bool is_same_device(const struct top_dir *p, const struct statx *x)
{
	return x->stx_dev_major == p->st_dev_major && x->stx_dev_minor == p->st_dev_minor;
}

static bool has_deleted_mark(const char *path)
{
	size_t len = strlen(path), end = sizeof DELETED - 1;

	return len >= end && strcmp(path + len - end, DELETED) == 0;
}

/* Without the mark it does on a local file system, which knows of each rename. */
static bool needs_no_look(const struct scan *sc, const char *below)
{
	return !sc->view && !sc->opts->old_dir->writes_at_close && !has_deleted_mark(below);
}

/* Does the name in /proc still belong to the file? A name may really end in " (deleted)", and
 * another file may have the name of a removed one. */
static bool has_name_still(const struct scan *sc, const char *below, const struct statx *x)
{
	struct statx there;

	if (sc->opts->is_dead)
		return !has_deleted_mark(below);
	return statx(sc->opts->old_dir->fd, below, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_INO,
		     &there) == 0 &&
	       there.stx_ino == x->stx_ino && there.stx_dev_major == x->stx_dev_major &&
	       there.stx_dev_minor == x->stx_dev_minor;
}

/* The path below OLD of a file that was opened through another mount of OLD, or one that is
 * attached nowhere: its paths begin there. A killed --swap leaves the files of a job so. NULL: it
 * is none. */
static const char *find_by_other_mount(const struct scan *sc, const struct link_target *target)
{
	const struct mount *m = mounts_find(&sc->mounts, target->x.stx_mnt_id);
	const char *below = path_below(m ? m->point : "/", target->link);

	return below && has_name_still(sc, below, &target->x) ? below : NULL;
}

bool scan_link(const struct scan *sc, const char *path, struct link_target *ret)
{
	const struct top_dir *old = sc->opts->old_dir;
	ssize_t len = readlink(path, ret->link, sizeof ret->link - 1);
	const struct mount *m;
	const char *below;

	ret->is_long = len < 0 && errno == ENAMETOOLONG;
	if (ret->is_long)
		len = snprintf(ret->link, sizeof ret->link, "(more than %d bytes)", PATH_MAX);
	if (len <= 0)
		return false;
	ret->link[len] = '\0';
	ret->below = NULL;
	ret->is_old = ret->is_other_mount = false;
	if (ret->link[0] != '/' && ret->link[0] != '(')
		return true;
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID, &ret->x) <
	    0)
		return false;
	m = sc->view ? scan_view_mount(sc, &ret->x) : NULL;
	ret->is_other_mount = !m && ret->x.stx_mnt_id != old->mnt_id;
	if (!m && map_get(&sc->old_mounts, ret->x.stx_mnt_id) == MAP_NONE &&
	    !is_same_device(old, &ret->x))
		return true;
	below = m ? scan_view_below(sc, m, ret->link, ret->there) : top_dir_below(old, ret->link);
	if (!below && !m && !sc->opts->is_dead)
		below = find_by_other_mount(sc, ret);
	ret->is_old = below || old->is_mount_root || ret->is_long;
	if (below && !ret->is_other_mount &&
	    (needs_no_look(sc, below) || has_name_still(sc, below, &ret->x)))
		ret->below = below;
	return true;
}

bool scan_may_be_old(const struct scan *sc, const char *path)
{
	struct statx x;

	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &x) == 0 &&
	       (map_get(&sc->old_mounts, x.stx_mnt_id) != MAP_NONE ||
		is_same_device(sc->opts->old_dir, &x));
}

const char *scan_string(struct scan *sc, const char *text)
{
	uint32_t id = strtab_intern(sc->strings, text, strlen(text));

	if (id == STRTAB_NONE) {
		sc->bad = true;
		return NULL;
	}
	return strtab_get(sc->strings, id).ptr;
}

uint32_t scan_find_file(const struct scan *sc, const struct statx *x)
{
	struct file_id id = make_id(x);

	return strtab_find(sc->file_ids, &id, sizeof id);
}

static void fill_file(struct scan *sc, struct reloc_file *f, const struct link_target *target,
		      const char *source)
{
	const struct statx *x = &target->x;
	char hidden[64];

	f->ino = x->stx_ino;
	f->dev_major = x->stx_dev_major;
	f->dev_minor = x->stx_dev_minor;
	f->mode = x->stx_mode;
	f->uid = x->stx_uid;
	f->gid = x->stx_gid;
	f->nlink = x->stx_nlink;
	f->size_bytes = x->stx_size;
	f->ctime_ns = x->stx_ctime.tv_sec * INT64_C(1000000000) + x->stx_ctime.tv_nsec;
	f->source = source ? scan_string(sc, source) : NULL;
	if (target->below) {
		f->old_path = f->new_path = scan_string(sc, target->below);
		return;
	}
	snprintf(hidden, sizeof hidden, ".auger-relocate.%u.%" PRIu64, f->dev_minor, f->ino);
	f->new_path = scan_string(sc, hidden);
	f->is_deleted = true;
}

uint32_t scan_add_file(struct scan *sc, const struct link_target *target, const char *source,
		       unsigned use)
{
	struct file_id id = make_id(&target->x);
	uint32_t at = strtab_intern(sc->file_ids, &id, sizeof id);
	struct reloc_file *f;

	if (at == STRTAB_NONE)
		goto nomem;
	if (at == sc->files.count) {
		f = rows_add(&sc->files, sizeof *f);
		if (!f)
			goto nomem;
		fill_file(sc, f, target, source);
	}
	f = (struct reloc_file *)sc->files.data + at;
	f->uses |= use;
	if (!f->source && source)
		f->source = scan_string(sc, source);
	/* The file was found by another name, which still exists. */
	if (f->is_deleted && target->below) {
		f->old_path = f->new_path = scan_string(sc, target->below);
		f->is_deleted = false;
	}
	return at;

nomem:
	sc->bad = true;
	return RELOC_NONE;
}

static const char *clean_string(struct scan *sc, const char *text)
{
	char clean[PATH_MAX + 64];

	snprintf(clean, sizeof clean, "%s", text);
	err_clean(clean);
	return scan_string(sc, clean);
}

void scan_add_obstacle_pid(struct scan *sc, enum reloc_obstacle_kind kind, pid_t pid,
			   const char *comm, const char *what, const char *path, const char *reason,
			   const char *remedy)
{
	struct reloc_obstacle *o = rows_add(&sc->obstacles, sizeof *o);

	if (!o) {
		sc->bad = true;
		return;
	}
	o->kind = kind;
	o->pid = pid;
	o->comm = clean_string(sc, comm);
	o->what = clean_string(sc, what);
	o->path = clean_string(sc, path);
	o->reason = clean_string(sc, reason);
	o->remedy = clean_string(sc, remedy);
}

void scan_add_obstacle(struct scan *sc, enum reloc_obstacle_kind kind, uint32_t proc,
		       const char *what, const char *path, const char *reason, const char *remedy)
{
	const struct reloc_proc *all = sc->procs.data;
	bool has_proc = proc != RELOC_NONE;

	scan_add_obstacle_pid(sc, kind, has_proc ? all[proc].pid : 0,
			      has_proc ? all[proc].comm : "", what, path, reason, remedy);
}

static void scan_fini(struct scan *sc)
{
	struct rows *lists[] = { &sc->procs,  &sc->files,   &sc->descs, &sc->fds,  &sc->locks,
				 &sc->epolls, &sc->watches, &sc->maps,  &sc->dirs, &sc->obstacles };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		rows_fini(lists[i]);
	strtab_free(sc->strings);
	strtab_free(sc->file_ids);
	mounts_fini(&sc->mounts);
	map_fini(&sc->old_mounts);
	map_fini(&sc->members);
	map_fini(&sc->pinners);
	map_fini(&sc->bound);
	scan_views_fini(sc);
	buf_fini(&sc->text);
}

/* Collects all mounts of OLD's file system, because a descriptor keeps the mount that it was opened
 * through. */
static int find_mounts(struct scan *sc, struct err *e)
{
	const struct top_dir *old = sc->opts->old_dir;
	const struct mount *all;

	if (mounts_read(&sc->mounts, 0, e) < 0)
		return e->code;
	all = sc->mounts.rows.data;
	for (size_t i = 0; i < sc->mounts.rows.count; i++)
		if (all[i].dev_major == old->dev_major && all[i].dev_minor == old->dev_minor &&
		    map_put(&sc->old_mounts, all[i].id, 1) < 0)
			return err_nomem(e);
	return 0;
}

static int prepare(struct scan *sc, struct err *e)
{
	struct statx x;

	sc->strings = strtab_new();
	sc->file_ids = strtab_new();
	if (!sc->strings || !sc->file_ids)
		return err_nomem(e);
	if (statx(AT_FDCWD, "/proc/self/root", 0, STATX_INO | STATX_MNT_ID, &x) < 0)
		return err_errno(e, "/proc/self/root");
	sc->root_ino = x.stx_ino;
	sc->root_mnt = x.stx_mnt_id;
	if (statx(AT_FDCWD, "/proc/self/ns/mnt", 0, STATX_INO, &x) < 0)
		return err_errno(e, "/proc/self/ns/mnt");
	sc->mnt_ns = x.stx_ino;
	return find_mounts(sc, e);
}

static int scan_all(struct scan *sc, struct err *e)
{
	if (prepare(sc, e) < 0 || scan_procs(sc, e) < 0 || scan_shared_tables(sc, e) < 0)
		return e->code;
	scan_sockets(sc);
	for (uint32_t i = 0; i < sc->procs.count; i++)
		if (scan_set_view(sc, ((struct reloc_proc *)sc->procs.data)[i].pid, e) < 0 ||
		    scan_fds(sc, i, e) < 0 || scan_maps(sc, i, e) < 0 || scan_dirs(sc, i, e) < 0)
			return e->code;
	sc->view = NULL;
	for (uint32_t i = 0; i < sc->procs.count && !sc->opts->is_frozen; i++)
		scan_environ(sc, i);
	if (scan_shared_descs(sc, e) < 0 || scan_outsiders(sc, e) < 0 || scan_mounts(sc, e) < 0)
		return e->code;
	return sc->bad ? err_nomem(e) : 0;
}

static void *hand_over(struct rows *rows, size_t *ret_count)
{
	void *data = rows->data;

	*ret_count = rows->count;
	rows->data = NULL;
	return data;
}

int scan_take(const struct scan_opts *opts, struct reloc_inventory *ret, struct err *e)
{
	CLEANUP(scan_fini) struct scan sc = { .opts = opts };
	struct reloc_inventory s = { 0 };
	int64_t began_ns = clock_mono_ns(), queued_ns = proc_queued_ns();

	if (scan_all(&sc, e) < 0)
		return e->code;
	s.procs = hand_over(&sc.procs, &s.proc_count);
	s.files = hand_over(&sc.files, &s.file_count);
	s.descs = hand_over(&sc.descs, &s.desc_count);
	s.fds = hand_over(&sc.fds, &s.fd_count);
	s.locks = hand_over(&sc.locks, &s.lock_count);
	s.epolls = hand_over(&sc.epolls, &s.epoll_count);
	s.watches = hand_over(&sc.watches, &s.watch_count);
	s.maps = hand_over(&sc.maps, &s.map_count);
	s.dirs = hand_over(&sc.dirs, &s.dir_count);
	s.obstacles = hand_over(&sc.obstacles, &s.obstacle_count);
	s.strings = sc.strings;
	sc.strings = NULL;
	s.took_ns = clock_mono_ns() - began_ns;
	s.cost_ns = s.took_ns - (proc_queued_ns() - queued_ns);
	*ret = s;
	return 0;
}
