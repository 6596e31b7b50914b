/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "relocate/inventory/scan_internal.h"

static const struct {
	const char *link, *what, *reason, *remedy;
} kinds[] = {
	[RELOC_DIR_CWD] = { "cwd", "working directory", "it is deleted",
			    "let the process change its directory first" },
	[RELOC_DIR_ROOT] = { "root", "root directory",
			     "nobody can change a root directory from outside", "" },
	[RELOC_DIR_EXE] = { "exe", "program", "the kernel keeps a running program open",
			    "start the program from another directory next time" },
};

static void add_dir(struct scan *sc, uint32_t proc, pid_t tid, enum reloc_dir_kind kind,
		    const char *path)
{
	struct link_target target;
	struct reloc_dir *d;
	uint32_t file;

	if (!scan_link(sc, path, &target) || !target.is_old)
		return;
	file = scan_add_file(sc, &target, path,
			     kind == RELOC_DIR_EXE ? RELOC_USE_EXEC : RELOC_USE_DIR);
	d = rows_add(&sc->dirs, sizeof *d);
	if (!d || file == RELOC_NONE) {
		sc->bad = true;
		return;
	}
	d->proc = proc;
	d->tid = tid;
	d->kind = kind;
	d->file = file;
	if (kind == RELOC_DIR_CWD && target.below)
		return;
	d->stays = true;
	if (target.is_long && !target.is_other_mount) {
		scan_add_obstacle(sc, RELOC_STAYS, proc, kinds[kind].what, target.link,
				  SCAN_PATH_TOO_LONG, kinds[RELOC_DIR_CWD].remedy);
		return;
	}
	scan_add_obstacle(sc, RELOC_STAYS, proc, kinds[kind].what, target.link,
			  target.is_other_mount
				  ? "it is reached through another mount of the file system"
				  : kinds[kind].reason,
			  target.is_other_mount ? "unmount the other mount" : kinds[kind].remedy);
}

static bool has_own_fs(pid_t pid, pid_t tid)
{
	return tid != pid && syscall(SYS_kcmp, pid, tid, KCMP_FS, 0, 0) != 0;
}

static bool has_own_files(pid_t pid, pid_t tid)
{
	return tid != pid && syscall(SYS_kcmp, pid, tid, KCMP_FILES, 0, 0) != 0;
}

/* A thread with a descriptor table of its own blocks the move: repoint handles one table for each
 * process. */
static int check_own_files(struct scan *sc, uint32_t proc, pid_t pid, pid_t tid, struct err *e)
{
	CLEANUP(rows_fini) struct rows numbers = { 0 };
	char path[PROC_PATH], what[64];
	struct link_target target;
	const int *all;

	snprintf(path, sizeof path, "/proc/%d/task/%d/fd", (int)pid, (int)tid);
	if (proc_numbers(path, &numbers) == -ENOMEM)
		return err_nomem(e);
	all = numbers.data;
	for (size_t i = 0; i < numbers.count; i++) {
		snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", (int)pid, (int)tid, all[i]);
		snprintf(what, sizeof what, "descriptor %d of thread %d", all[i], (int)tid);
		if (scan_may_be_old(sc, path) && scan_link(sc, path, &target) && target.is_old)
			scan_add_obstacle(sc, RELOC_BLOCKS, proc, what, target.link,
					  "the thread has a descriptor table of its own",
					  "close it in the thread");
	}
	return 0;
}

/* repoint opens NEW by a path of the process, so NEW must be visible from its root directory. */
static void check_root(struct scan *sc, uint32_t proc, pid_t pid)
{
	struct reloc_proc *p = (struct reloc_proc *)sc->procs.data + proc;
	char path[PROC_PATH];
	struct statx x;

	if (!sc->view || !sc->opts->new_dir)
		return;
	p->new_path = scan_view_new_path(sc);
	if (p->new_path)
		return;
	snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &x) == 0 &&
	    x.stx_ino != sc->mnt_ns)
		scan_add_obstacle(sc, RELOC_BLOCKS, proc, "process", "",
				  "NEW is not visible in its mount namespace",
				  "mount it there, too: nsenter --mount --target PID");
	else
		scan_add_obstacle(sc, RELOC_BLOCKS, proc, "root directory", "",
				  "NEW is not visible below its root directory (chroot)",
				  "mount it there: mount --bind");
}

static bool has_rows(const struct scan *sc, uint32_t proc)
{
	const struct reloc_fd *fds = sc->fds.data;
	const struct reloc_map *maps = sc->maps.data;
	const struct reloc_dir *dirs = sc->dirs.data;
	const struct reloc_watch *watches = sc->watches.data;

	for (size_t i = sc->fds.count; i-- > 0;)
		if (fds[i].proc == proc)
			return true;
	for (size_t i = sc->watches.count; i-- > 0;)
		if (watches[i].proc == proc)
			return true;
	for (size_t i = sc->maps.count; i-- > 0;)
		if (maps[i].proc == proc)
			return true;
	for (size_t i = sc->dirs.count; i-- > 0;)
		if (dirs[i].proc == proc)
			return true;
	return false;
}

int scan_dirs(struct scan *sc, uint32_t proc, struct err *e)
{
	CLEANUP(rows_fini) struct rows tids = { 0 };
	pid_t pid = ((struct reloc_proc *)sc->procs.data)[proc].pid;
	char path[PROC_PATH];
	const int *all;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	if (proc_numbers(path, &tids) == -ENOMEM)
		return err_nomem(e);
	all = tids.data;
	for (size_t i = 0; i < tids.count; i++) {
		if (has_own_files(pid, all[i]) && check_own_files(sc, proc, pid, all[i], e) < 0)
			return e->code;
		if (all[i] != pid && !has_own_fs(pid, all[i]))
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%d/cwd", (int)pid, all[i]);
		add_dir(sc, proc, all[i], RELOC_DIR_CWD, path);
		snprintf(path, sizeof path, "/proc/%d/task/%d/root", (int)pid, all[i]);
		add_dir(sc, proc, all[i], RELOC_DIR_ROOT, path);
	}
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	add_dir(sc, proc, pid, RELOC_DIR_EXE, path);
	if (has_rows(sc, proc))
		check_root(sc, proc, pid);
	return sc->bad ? err_nomem(e) : 0;
}
