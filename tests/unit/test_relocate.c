/* SPDX-License-Identifier: MIT */
/* Paths, process lists, /proc and the scan cache of relocate. */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relocate/inventory/jobs.h"
#include "relocate/inventory/mounts.h"
#include "relocate/inventory/scan_cache.h"
#include "relocate/inventory/top_dir.h"
#include "tap.h"
#include "target/proc.h"

static void test_below(void)
{
	static char old[] = "/x/old", root[] = "/";
	static const struct {
		char *place;
		const char *path, *below;
	} rows[] = {
		{ old, "/x/old", "" },
		{ old, "/x/old/a/b", "a/b" },
		{ old, "/x/old2", NULL },
		{ old, "/x/old2/a", NULL },
		{ old, "/x", NULL },
		{ old, "", NULL },
		{ old, "/x/old/a (deleted)", "a (deleted)" },
		{ root, "/a", "a" },
		{ root, "(unreachable)/a", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct top_dir p = { .path = rows[i].place, .fd = -1 };
		const char *below = top_dir_below(&p, rows[i].path);

		if (CHECK(!below == !rows[i].below) && below)
			CHECK_STR(below, rows[i].below);
	}
}

static void test_pids(void)
{
	static const struct {
		const char *list;
		int rc;
		size_t count;
	} rows[] = {
		{ "1", 0, 1 },         { "1,22,333", 0, 3 },          { "5,5", 0, 1 },
		{ "", -EINVAL, 0 },    { "0", -EINVAL, 0 },           { "-1", -EINVAL, 0 },
		{ "1;2", -EINVAL, 0 }, { "99999999999", -EINVAL, 0 }, { "1,", 0, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(rows_fini) struct rows pids = { 0 };
		struct err e = { 0 };

		if (CHECK_INT(jobs_parse(rows[i].list, &pids, &e), rows[i].rc) && !rows[i].rc)
			CHECK_INT(pids.count, rows[i].count);
	}
}

static void test_fdinfo(void)
{
	struct proc_fdinfo info;
	char text[] = "pos:\t5000000000\nflags:\t02102001\nmnt_id:\t97\nino:\t12\nlock:\t1: FLOCK\n"
		      "lock:\t2: POSIX\n";
	char *at = text, *line;

	if (CHECK(proc_fdinfo_parse(&info, text))) {
		CHECK_INT(info.pos, 5000000000);
		CHECK_INT(info.flags, 02102001);
		CHECK_INT(info.mnt_id, 97);
	}
	CHECK(!proc_fdinfo_parse(&info, "pos:\t1\nflags:\tx"));
	line = proc_line(&at, "lock:");
	if (CHECK(line != NULL))
		CHECK_STR(line, "\t1: FLOCK");
	line = proc_line(&at, "lock:");
	if (CHECK(line != NULL))
		CHECK_STR(line, "\t2: POSIX");
	CHECK(proc_line(&at, "lock:") == NULL);
}

static void test_self(void)
{
	CLEANUP(mounts_fini) struct mounts all = { 0 };
	struct top_dir p = { .fd = -1 };
	struct proc_stat stat;
	struct err e = { 0 };

	if (CHECK(proc_stat_read(&stat, getpid()))) {
		CHECK_INT(stat.parent, getppid());
		CHECK_INT(stat.threads, 1);
		CHECK(!stat.is_kernel && stat.state == 'R');
	}
	if (CHECK_INT(mounts_read(&all, 0, &e), 0) && CHECK_INT(top_dir_open(&p, "/proc", &e), 0)) {
		const struct mount *m = mounts_find(&all, p.mnt_id);

		CHECK(p.is_mount_root);
		if (CHECK(m != NULL))
			CHECK_STR(m->type, "proc");
		top_dir_close(&p);
	}
	CHECK(top_dir_open(&p, "/proc/self/no such place", &e) == -ENOENT);
}

/* The user who owns a parent of OLD renames it, and plants a link at its place. */
static bool plant_link(const char *top)
{
	return chdir(top) == 0 && rename("home", "home2") == 0 && symlink("victim", "home") == 0;
}

static bool make_dirs(const char *top)
{
	static const char *const dirs[] = { "home", "home/old", "victim", "victim/old", "new" };

	if (chdir(top) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (mkdir(dirs[i], 0755) < 0)
			return false;
	return mount("none", "home/old", "tmpfs", 0, NULL) == 0 &&
	       mount("none", "new", "tmpfs", 0, NULL) == 0 && mkdir("new/here", 0755) == 0;
}

/* Unmounting and covering OLD reach what was opened, whatever its path leads to by then. */
static void test_swap_link(void)
{
	struct top_dir old_dir = { .fd = -1 }, new_dir = { .fd = -1 };
	char top[] = "/tmp/auger-test-XXXXXX";
	struct err e = { 0 };

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		SKIP("needs root, and a mount namespace");
		return;
	}
	/* Its file system ends with the namespace, and so does all that is in it. */
	if (!CHECK(mkdtemp(top) != NULL) || !CHECK(mount("none", top, "tmpfs", 0, NULL) == 0))
		return;
	if (CHECK(make_dirs(top)) && CHECK_INT(top_dir_open(&old_dir, "home/old", &e), 0) &&
	    CHECK_INT(top_dir_open(&new_dir, "new", &e), 0) && CHECK(plant_link(top))) {
		CHECK_INT(top_dir_unmount(&old_dir, false, &e), 0);
		CHECK_INT(top_dir_cover(&old_dir, &new_dir, &e), 0);
		CHECK(access("home2/old/here", F_OK) == 0);
		CHECK(access("victim/old/here", F_OK) < 0);
	}
	top_dir_close(&old_dir);
	top_dir_close(&new_dir);
	CHECK(chdir("/") == 0 && umount2(top, MNT_DETACH) == 0 && rmdir(top) == 0);
}

/* Echoes each byte. */
static void answer(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
	_exit(0);
}

/* An entry is valid while the process waits, and invalid after its next system call. */
static void test_scan_cache(void)
{
	CLEANUP(scan_cache_fini) struct scan_cache cache = { 0 };
	int there[2], back[2];
	struct proc_stat stat;
	int64_t time_ns;
	char byte = 'x';
	pid_t pid;

	if (!CHECK(pipe(there) == 0 && pipe(back) == 0))
		return;
	pid = fork();
	if (pid == 0) {
		close(there[1]);
		answer(there[0], back[1]);
	}
	CHECK(!scan_cache_is_valid(&cache, pid));
	for (int i = 0; i < 3; i++) {
		CHECK(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1);
		do { /* until it waits again */
			time_ns = scan_cache_cpu_ns(pid);
			usleep(10000);
		} while (!proc_stat_read(&stat, pid) || stat.state != 'S' ||
			 time_ns != scan_cache_cpu_ns(pid));
		CHECK(i == 0 || !scan_cache_is_valid(&cache, pid));
		CHECK_INT(scan_cache_add(&cache, pid, time_ns), 0);
		CHECK(scan_cache_is_valid(&cache, pid));
	}
	close(there[1]);
	waitpid(pid, NULL, 0);
	CHECK_INT(scan_cache_cpu_ns(pid), -1);
	CHECK(!scan_cache_is_valid(&cache, pid));
	close(there[0]);
	close(back[0]);
	close(back[1]);
}

int main(void)
{
	TAP_CASE(test_below);
	TAP_CASE(test_pids);
	TAP_CASE(test_fdinfo);
	TAP_CASE(test_self);
	TAP_CASE(test_swap_link);
	TAP_CASE(test_scan_cache);
	return tap_done();
}
