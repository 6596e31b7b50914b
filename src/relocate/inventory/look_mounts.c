/* SPDX-License-Identifier: MIT */
/* What else stands on OLD: mounts below it, other mounts of it, swap, loop devices; and NEW. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "relocate/inventory/look.h"

static void check_mount(struct look *l, const struct mount *m, const char *point)
{
	const struct reloc_place *old = l->ask->old_place;
	const char *below = place_below(old, point);

	if (m->id == old->mnt_id)
		return;
	if (below && *below)
		look_obstacle(l, RELOC_LEAVES, RELOC_NONE, "mount", point,
			      "another file system is mounted below OLD", "unmount it");
	else if (m->dev_major == old->dev_major && m->dev_minor == old->dev_minor &&
		 old->is_mount_root)
		look_obstacle(l, RELOC_LEAVES, RELOC_NONE, "mount", point,
			      "the file system of OLD is mounted there, too", "unmount it");
}

/* The first word of each line but the first. */
static void check_swaps(struct look *l)
{
	char text[8192], *at = text, *line;

	file_read_start("/proc/swaps", text, sizeof text);
	(void)strsep(&at, "\n");
	while ((line = strsep(&at, "\n"))) {
		line[strcspn(line, " \t")] = '\0';
		if (*line && place_below(l->ask->old_place, line))
			look_obstacle(l, RELOC_LEAVES, RELOC_NONE, "swap", line,
				      "memory of the machine is swapped to it", "swapoff");
	}
}

static void check_loop(struct look *l, const char *device)
{
	char path[PROC_PATH], file[4096];

	snprintf(path, sizeof path, "/sys/block/%.32s/loop/backing_file", device);
	if (!file_read_start(path, file, sizeof file))
		return;
	file[strcspn(file, "\n")] = '\0';
	if (place_below(l->ask->old_place, file))
		look_obstacle(l, RELOC_LEAVES, RELOC_NONE, device, file,
			      "a block device is made of it", "losetup --detach");
}

static void check_loops(struct look *l)
{
	DIR *dir = opendir("/sys/block");
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (strncmp(d->d_name, "loop", 4) == 0)
			check_loop(l, d->d_name);
	if (dir)
		closedir(dir);
}

/* The first word of each line that is no remark. */
static void check_exports(struct look *l)
{
	char text[65536], *at = text, *line;

	file_read_start("/proc/fs/nfsd/exports", text, sizeof text);
	while ((line = strsep(&at, "\n"))) {
		line[strcspn(line, " \t")] = '\0';
		if (*line == '/' && place_below(l->ask->old_place, line))
			look_obstacle(l, RELOC_LEAVES, RELOC_NONE, "NFS export", line,
				      "other machines use it", "exportfs -u");
	}
}

static bool is_root_mount(const struct look *l, const struct reloc_place *p)
{
	struct statx x;

	return statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) == 0 &&
	       x.stx_mnt_id == p->mnt_id && map_get(&l->mine, x.stx_mnt_id) == MAP_NONE;
}

static void check_new(struct look *l)
{
	const struct reloc_place *old = l->ask->old_place, *place = l->ask->new_place;
	struct statvfs fs;

	if (place->dev_major == old->dev_major && place->dev_minor == old->dev_minor)
		look_obstacle(l, RELOC_PREVENTS, RELOC_NONE, "NEW", place->path,
			      "it is on the same file system as OLD", "");
	else if (place_below(old, place->path))
		look_obstacle(l, RELOC_PREVENTS, RELOC_NONE, "NEW", place->path, "it is below OLD",
			      "");
	else if (is_root_mount(l, place))
		look_obstacle(l, RELOC_LEAVES, RELOC_NONE, "NEW", place->path,
			      "it is on the file system of /", "mount the new storage there");
	if (fstatvfs(place->fd, &fs) == 0 && fs.f_flag & ST_RDONLY)
		look_obstacle(l, RELOC_PREVENTS, RELOC_NONE, "NEW", place->path, "it is read-only",
			      "mount it read-write");
}

/* Is the file system of OLD there, by a mount that does not go when OLD is unmounted here? */
static const struct mount *find_other(const struct look *l, const struct mounts *theirs)
{
	const struct reloc_place *old = l->ask->old_place;
	const struct mount *ours = mounts_find(&l->mounts, old->mnt_id);
	const struct mount *all = theirs->rows.data;

	for (size_t i = 0; i < theirs->rows.count; i++) {
		const struct mount *m = &all[i];

		if (m->dev_major != old->dev_major || m->dev_minor != old->dev_minor)
			continue;
		if (!ours || !ours->peers || (m->peers != ours->peers && m->master != ours->peers))
			return m;
	}
	return NULL;
}

static void check_namespace(struct look *l, pid_t pid)
{
	CLEANUP(mounts_fini) struct mounts theirs = { 0 };
	struct proc_stat stat = { 0 };
	const struct mount *m;
	struct err ignored = { 0 };
	char remedy[PATH_MAX + 96];

	if (mounts_read(&theirs, pid, &ignored) < 0)
		return; /* it has ended */
	m = find_other(l, &theirs);
	if (!m || !proc_stat_read(&stat, pid))
		return;
	snprintf(remedy, sizeof remedy, "nsenter --mount --target %d umount %s", (int)pid,
		 m->point);
	look_obstacle_pid(l, RELOC_NOTES, pid, stat.comm, "mount namespace", m->point,
			  "it has the file system of OLD mounted, too", remedy);
}

/* A namespace that was made while OLD was mounted may have a copy of the mount. */
static int check_namespaces(struct look *l, struct err *e)
{
	CLEANUP(rows_fini) struct rows pids = { 0 };
	CLEANUP(map_fini) struct map seen = { 0 };
	const int *all;

	if (proc_numbers("/proc", &pids) == -ENOMEM || map_put(&seen, l->mnt_ns, 1) < 0)
		return err_nomem(e);
	all = pids.data;
	for (size_t i = 0; i < pids.count; i++) {
		char path[PROC_PATH];
		struct stat ns;

		snprintf(path, sizeof path, "/proc/%d/ns/mnt", all[i]);
		if (stat(path, &ns) < 0 || map_get(&seen, ns.st_ino) != MAP_NONE)
			continue;
		if (map_put(&seen, ns.st_ino, 1) < 0)
			return err_nomem(e);
		check_namespace(l, (pid_t)all[i]);
	}
	return 0;
}

int look_mounts(struct look *l, struct err *e)
{
	const struct mount *all = l->mounts.rows.data;

	for (size_t i = 0; i < l->mounts.rows.count; i++)
		check_mount(l, &all[i], all[i].point);
	if (l->ask->new_place)
		check_new(l);
	if (!l->ask->is_stopped) {
		check_swaps(l);
		check_loops(l);
		check_exports(l);
		if (l->ask->old_place->is_mount_root && check_namespaces(l, e) < 0)
			return e->code;
	}
	return l->bad ? err_nomem(e) : 0;
}
