/* SPDX-License-Identifier: MIT */
/* Paths, process lists, /proc and the scan cache of relocate. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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
	TAP_CASE(test_scan_cache);
	return tap_done();
}
