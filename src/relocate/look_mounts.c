/* SPDX-License-Identifier: MIT */
/* What else stands on OLD: mounts below it, other mounts of it, swap, loop devices; and NEW. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "relocate/look.h"

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
	const struct reloc_place *old = l->ask->old_place, *new = l->ask->new_place;
	struct statvfs fs;

	if (new->dev_major == old->dev_major &&new->dev_minor == old->dev_minor)
		look_obstacle(l, RELOC_PREVENTS, RELOC_NONE, "NEW", new->path,
			      "it is on the same file system as OLD", "");
	else if (place_below(old, new->path))
		look_obstacle(l, RELOC_PREVENTS, RELOC_NONE, "NEW", new->path, "it is below OLD",
			      "");
	else if (is_root_mount(l, new))
		look_obstacle(l, RELOC_LEAVES, RELOC_NONE, "NEW", new->path,
			      "it is on the file system of /", "mount the new storage there");
	if (fstatvfs(new->fd, &fs) == 0 && fs.f_flag & ST_RDONLY)
		look_obstacle(l, RELOC_PREVENTS, RELOC_NONE, "NEW", new->path, "it is read-only",
			      "mount it read-write");
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
	}
	return l->bad ? err_nomem(e) : 0;
}
