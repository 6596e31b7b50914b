/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "relocate/inventory/look.h"

void survey_fini(struct survey *s)
{
	free(s->procs);
	free(s->files);
	free(s->descs);
	free(s->fds);
	free(s->locks);
	free(s->epolls);
	free(s->watches);
	free(s->maps);
	free(s->dirs);
	free(s->obstacles);
	strtab_free(s->strings);
	memset(s, 0, sizeof *s);
}

bool survey_has(const struct survey *s, enum reloc_obstacle_kind kind)
{
	for (size_t i = 0; i < s->obstacle_count; i++)
		if (s->obstacles[i].kind == kind)
			return true;
	return false;
}

static void look_fini(struct look *l)
{
	struct rows *lists[] = { &l->procs,  &l->files,   &l->descs, &l->fds,  &l->locks,
				 &l->epolls, &l->watches, &l->maps,  &l->dirs, &l->obstacles };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		rows_fini(lists[i]);
	strtab_free(l->strings);
	strtab_free(l->file_ids);
	mounts_fini(&l->mounts);
	map_fini(&l->mine);
	map_fini(&l->members);
	map_fini(&l->pinners);
	map_fini(&l->bound);
	look_views_fini(l);
	buf_fini(&l->text);
}

/* All mounts of OLD's file system are OLD's: a descriptor keeps the one it was opened through. */
static int find_mounts(struct look *l, struct err *e)
{
	const struct reloc_place *old = l->ask->old_place;
	const struct mount *all;

	if (mounts_read(&l->mounts, 0, e) < 0)
		return e->code;
	all = l->mounts.rows.data;
	for (size_t i = 0; i < l->mounts.rows.count; i++)
		if (all[i].dev_major == old->dev_major && all[i].dev_minor == old->dev_minor &&
		    map_put(&l->mine, all[i].id, 1) < 0)
			return err_nomem(e);
	return 0;
}

static int prepare(struct look *l, struct err *e)
{
	struct statx x;

	l->strings = strtab_new();
	l->file_ids = strtab_new();
	if (!l->strings || !l->file_ids)
		return err_nomem(e);
	if (statx(AT_FDCWD, "/proc/self/root", 0, STATX_INO | STATX_MNT_ID, &x) < 0)
		return err_errno(e, "/proc/self/root");
	l->root_ino = x.stx_ino;
	l->root_mnt = x.stx_mnt_id;
	if (statx(AT_FDCWD, "/proc/self/ns/mnt", 0, STATX_INO, &x) < 0)
		return err_errno(e, "/proc/self/ns/mnt");
	l->mnt_ns = x.stx_ino;
	return find_mounts(l, e);
}

static int look_at_all(struct look *l, struct err *e)
{
	if (prepare(l, e) < 0 || look_procs(l, e) < 0 || look_sharing(l, e) < 0)
		return e->code;
	look_sockets(l);
	for (uint32_t i = 0; i < l->procs.count; i++)
		if (look_view(l, ((struct reloc_proc *)l->procs.data)[i].pid, e) < 0 ||
		    look_fds(l, i, e) < 0 || look_maps(l, i, e) < 0 || look_dirs(l, i, e) < 0)
			return e->code;
	l->view = NULL;
	for (uint32_t i = 0; i < l->procs.count && !l->ask->is_stopped; i++)
		look_words(l, i);
	if (look_groups(l, e) < 0 || look_others(l, e) < 0 || look_mounts(l, e) < 0)
		return e->code;
	return l->bad ? err_nomem(e) : 0;
}

static void *hand_over(struct rows *rows, size_t *ret_count)
{
	void *data = rows->data;

	*ret_count = rows->count;
	rows->data = NULL;
	return data;
}

int survey_take(const struct survey_ask *ask, struct survey *ret, struct err *e)
{
	CLEANUP(look_fini) struct look l = { .ask = ask };
	struct survey s = { 0 };
	int64_t began_ns = clock_mono_ns();

	if (look_at_all(&l, e) < 0)
		return e->code;
	s.procs = hand_over(&l.procs, &s.proc_count);
	s.files = hand_over(&l.files, &s.file_count);
	s.descs = hand_over(&l.descs, &s.desc_count);
	s.fds = hand_over(&l.fds, &s.fd_count);
	s.locks = hand_over(&l.locks, &s.lock_count);
	s.epolls = hand_over(&l.epolls, &s.epoll_count);
	s.watches = hand_over(&l.watches, &s.watch_count);
	s.maps = hand_over(&l.maps, &s.map_count);
	s.dirs = hand_over(&l.dirs, &s.dir_count);
	s.obstacles = hand_over(&l.obstacles, &s.obstacle_count);
	s.strings = l.strings;
	l.strings = NULL;
	s.took_ns = clock_mono_ns() - began_ns;
	*ret = s;
	return 0;
}
