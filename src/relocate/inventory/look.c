/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/look.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct file_id {
	uint64_t ino;
	uint32_t dev_major, dev_minor;
};

static struct file_id make_id(const struct statx *x)
{
	return (struct file_id){ x->stx_ino, x->stx_dev_major, x->stx_dev_minor };
}

static bool is_same_device(const struct reloc_place *p, const struct statx *x)
{
	return x->stx_dev_major == p->st_dev_major && x->stx_dev_minor == p->st_dev_minor;
}

/* Is the name that /proc tells still that of the file? A name may really end in " (deleted)", and
 * one that was taken away may be there again for another file. */
static bool is_named(const struct look *l, const char *below, const struct statx *x)
{
	struct statx there;

	return statx(l->ask->old_place->fd, below, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_INO,
		     &there) == 0 &&
	       there.stx_ino == x->stx_ino && there.stx_dev_major == x->stx_dev_major &&
	       there.stx_dev_minor == x->stx_dev_minor;
}

bool look_link(const struct look *l, const char *path, struct seen *ret)
{
	const struct reloc_place *old = l->ask->old_place;
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
	m = l->view ? look_view_mount(l, &ret->x) : NULL;
	ret->is_other_mount = !m && ret->x.stx_mnt_id != old->mnt_id;
	if (!m && map_get(&l->mine, ret->x.stx_mnt_id) == MAP_NONE && !is_same_device(old, &ret->x))
		return true;
	below = m ? look_view_below(l, m, ret->link, ret->there) : place_below(old, ret->link);
	ret->is_old = below || old->is_mount_root || ret->is_long;
	if (below && !ret->is_other_mount && is_named(l, below, &ret->x))
		ret->below = below;
	return true;
}

bool look_is_near(const struct look *l, const char *path)
{
	struct statx x;

	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &x) == 0 &&
	       (map_get(&l->mine, x.stx_mnt_id) != MAP_NONE ||
		is_same_device(l->ask->old_place, &x));
}

const char *look_string(struct look *l, const char *text)
{
	uint32_t id = strtab_intern(l->strings, text, strlen(text));

	if (id == STRTAB_NONE) {
		l->bad = true;
		return NULL;
	}
	return strtab_get(l->strings, id).ptr;
}

uint32_t look_find_file(const struct look *l, const struct statx *x)
{
	struct file_id id = make_id(x);

	return strtab_find(l->file_ids, &id, sizeof id);
}

static void fill_file(struct look *l, struct reloc_file *f, const struct seen *seen,
		      const char *source)
{
	const struct statx *x = &seen->x;
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
	f->source = source ? look_string(l, source) : NULL;
	if (seen->below) {
		f->old_path = f->new_path = look_string(l, seen->below);
		return;
	}
	snprintf(hidden, sizeof hidden, ".auger-relocate.%u.%" PRIu64, f->dev_minor, f->ino);
	f->new_path = look_string(l, hidden);
	f->is_deleted = true;
}

uint32_t look_file(struct look *l, const struct seen *seen, const char *source, unsigned use)
{
	struct file_id id = make_id(&seen->x);
	uint32_t at = strtab_intern(l->file_ids, &id, sizeof id);
	struct reloc_file *f;

	if (at == STRTAB_NONE)
		goto nomem;
	if (at == l->files.count) {
		f = rows_add(&l->files, sizeof *f);
		if (!f)
			goto nomem;
		fill_file(l, f, seen, source);
	}
	f = (struct reloc_file *)l->files.data + at;
	f->uses |= use;
	if (!f->source && source)
		f->source = look_string(l, source);
	/* Another name of it that is still there. */
	if (f->is_deleted && seen->below) {
		f->old_path = f->new_path = look_string(l, seen->below);
		f->is_deleted = false;
	}
	return at;

nomem:
	l->bad = true;
	return RELOC_NONE;
}

static const char *clean_string(struct look *l, const char *text)
{
	char clean[PATH_MAX + 64];

	snprintf(clean, sizeof clean, "%s", text);
	err_clean(clean);
	return look_string(l, clean);
}

void look_obstacle_pid(struct look *l, enum reloc_obstacle_kind kind, pid_t pid, const char *comm,
		       const char *what, const char *path, const char *reason, const char *remedy)
{
	struct reloc_obstacle *o = rows_add(&l->obstacles, sizeof *o);

	if (!o) {
		l->bad = true;
		return;
	}
	o->kind = kind;
	o->pid = pid;
	o->comm = clean_string(l, comm);
	o->what = clean_string(l, what);
	o->path = clean_string(l, path);
	o->reason = clean_string(l, reason);
	o->remedy = clean_string(l, remedy);
}

void look_obstacle(struct look *l, enum reloc_obstacle_kind kind, uint32_t proc, const char *what,
		   const char *path, const char *reason, const char *remedy)
{
	const struct reloc_proc *all = l->procs.data;
	bool has_proc = proc != RELOC_NONE;

	look_obstacle_pid(l, kind, has_proc ? all[proc].pid : 0, has_proc ? all[proc].comm : "",
			  what, path, reason, remedy);
}
