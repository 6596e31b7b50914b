/* SPDX-License-Identifier: MIT */
/* Other users of OLD: mounts below it, other mounts of it, swap, loop devices, NFS exports. And
 * checks of NEW. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "relocate/inventory/scan_internal.h"

static void check_mount(struct scan *sc, const struct mount *m, const char *point)
{
	const struct top_dir *old = sc->opts->old_dir;
	const char *below = top_dir_below(old, point);

	if (m->id == old->mnt_id)
		return;
	if (below && *below)
		scan_add_obstacle(sc, RELOC_STAYS, RELOC_NONE, "mount", point,
				  "another file system is mounted below OLD", "unmount it");
	else if (m->dev_major == old->dev_major && m->dev_minor == old->dev_minor &&
		 old->is_mount_root)
		scan_add_obstacle(sc, RELOC_STAYS, RELOC_NONE, "mount", point,
				  "the file system of OLD is mounted here, too", "unmount it");
}

/* The first word of each line after the heading. */
static void check_swaps(struct scan *sc)
{
	char text[8192], *at = text, *line;

	file_read_start("/proc/swaps", text, sizeof text);
	(void)strsep(&at, "\n");
	while ((line = strsep(&at, "\n"))) {
		line[strcspn(line, " \t")] = '\0';
		if (*line && top_dir_below(sc->opts->old_dir, line))
			scan_add_obstacle(sc, RELOC_STAYS, RELOC_NONE, "swap", line,
					  "the machine swaps to it", "swapoff");
	}
}

static void check_loop(struct scan *sc, const char *device)
{
	char path[PROC_PATH], file[4096];

	snprintf(path, sizeof path, "/sys/block/%.32s/loop/backing_file", device);
	if (!file_read_start(path, file, sizeof file))
		return;
	file[strcspn(file, "\n")] = '\0';
	if (top_dir_below(sc->opts->old_dir, file))
		scan_add_obstacle(sc, RELOC_STAYS, RELOC_NONE, device, file,
				  "a loop device uses it", "losetup --detach");
}

static void check_loops(struct scan *sc)
{
	DIR *dir = opendir("/sys/block");
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (strncmp(d->d_name, "loop", 4) == 0)
			check_loop(sc, d->d_name);
	if (dir)
		closedir(dir);
}

/* The first word of each line that is not a comment. */
static void check_exports(struct scan *sc)
{
	char text[65536], *at = text, *line;

	file_read_start("/proc/fs/nfsd/exports", text, sizeof text);
	while ((line = strsep(&at, "\n"))) {
		line[strcspn(line, " \t")] = '\0';
		if (*line == '/' && top_dir_below(sc->opts->old_dir, line))
			scan_add_obstacle(sc, RELOC_STAYS, RELOC_NONE, "NFS export", line,
					  "other machines may use it", "exportfs -u");
	}
}

static bool is_root_mount(const struct scan *sc, const struct top_dir *p)
{
	struct statx x;

	return statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) == 0 &&
	       x.stx_mnt_id == p->mnt_id && map_get(&sc->old_mounts, x.stx_mnt_id) == MAP_NONE;
}

/* On a mount with more rights, files of users would gain what OLD's mount denies: set-id bits,
 * device nodes, execution. */
static void check_options(struct scan *sc)
{
	const struct mount *old = mounts_find(&sc->mounts, sc->opts->old_dir->mnt_id);
	const struct mount *new = mounts_find(&sc->mounts, sc->opts->new_dir->mnt_id);
	unsigned missing = old && new ? old->options & ~new->options : 0;
	char reason[64], remedy[64];

	if (!missing || geteuid() != 0)
		return;
	snprintf(reason, sizeof reason, "OLD is mounted with %s, and NEW without it",
		 mount_option_name(missing));
	snprintf(remedy, sizeof remedy, "mount -o remount,%s", mount_option_name(missing));
	scan_add_obstacle(sc, RELOC_BLOCKS, RELOC_NONE, "NEW", sc->opts->new_dir->path, reason,
			  remedy);
}

static void check_new(struct scan *sc)
{
	const struct top_dir *old = sc->opts->old_dir, *new = sc->opts->new_dir;
	struct statvfs fs;

	if (new->dev_major == old->dev_major &&new->dev_minor == old->dev_minor)
		scan_add_obstacle(sc, RELOC_BLOCKS, RELOC_NONE, "NEW", new->path,
				  "it is on the same file system as OLD", "");
	else if (top_dir_below(old, new->path))
		scan_add_obstacle(sc, RELOC_BLOCKS, RELOC_NONE, "NEW", new->path, "it is below OLD",
				  "");
	else if (is_root_mount(sc, new))
		scan_add_obstacle(sc, RELOC_STAYS, RELOC_NONE, "NEW", new->path,
				  "it is on the file system of /", "mount the new storage there");
	if (fstatvfs(new->fd, &fs) == 0 && fs.f_flag & ST_RDONLY)
		scan_add_obstacle(sc, RELOC_BLOCKS, RELOC_NONE, "NEW", new->path, "it is read-only",
				  "mount it read-write");
	check_options(sc);
}

/* A mount of OLD's file system that stays when OLD is unmounted here; NULL: none. */
static const struct mount *find_other(const struct scan *sc, const struct mounts *theirs)
{
	const struct top_dir *old = sc->opts->old_dir;
	const struct mount *ours = mounts_find(&sc->mounts, old->mnt_id);
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

static void check_namespace(struct scan *sc, pid_t pid)
{
	CLEANUP(mounts_fini) struct mounts theirs = { 0 };
	struct proc_stat stat = { 0 };
	const struct mount *m;
	struct err ignored = { 0 };
	char remedy[PATH_MAX + 96];

	if (mounts_read(&theirs, pid, &ignored) < 0)
		return; /* it has ended */
	m = find_other(sc, &theirs);
	if (!m || !proc_stat_read(&stat, pid))
		return;
	snprintf(remedy, sizeof remedy, "nsenter --mount --target %d umount %s", (int)pid,
		 m->point);
	scan_add_obstacle_pid(sc, RELOC_NOTE, pid, stat.comm, "mount namespace", m->point,
			      "it has the file system of OLD mounted, too", remedy);
}

/* A mount namespace that was created while OLD was mounted may have a copy of the mount. */
static int check_namespaces(struct scan *sc, struct err *e)
{
	CLEANUP(rows_fini) struct rows pids = { 0 };
	CLEANUP(map_fini) struct map seen = { 0 };
	const int *all;

	if (proc_numbers("/proc", &pids) == -ENOMEM || map_put(&seen, sc->mnt_ns, 1) < 0)
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
		check_namespace(sc, (pid_t)all[i]);
	}
	return 0;
}

int scan_mounts(struct scan *sc, struct err *e)
{
	const struct mount *all = sc->mounts.rows.data;

	for (size_t i = 0; i < sc->mounts.rows.count; i++)
		check_mount(sc, &all[i], all[i].point);
	if (sc->opts->new_dir)
		check_new(sc);
	if (!sc->opts->is_frozen) {
		check_swaps(sc);
		check_loops(sc);
		check_exports(sc);
		if (sc->opts->old_dir->is_mount_root && check_namespaces(sc, e) < 0)
			return e->code;
	}
	return sc->bad ? err_nomem(e) : 0;
}
