/* SPDX-License-Identifier: MIT */
#include "cachefs/overlay/shared.h"

#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tap.h"

#define MOUNTS                                                   \
	"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"                  \
	"22 21 0:5 / /proc rw - proc proc rw\n"                  \
	"23 21 0:30 / /home rw - nfs4 server:/home rw\n"         \
	"24 21 0:31 / /lus rw - lustre mgs@o2ib:/lus rw\n"       \
	"25 24 0:32 / /lus/local rw - tmpfs tmpfs rw\n"          \
	"26 21 0:33 / /cvmfs/a\\040b ro - fuse cvmfs2 rw\n"      \
	"27 21 0:34 / /ceph rw - fuse.ceph-fuse ceph-fuse rw\n"  \
	"28 21 0:35 / /sshfs rw - fuse.sshfs me@host:/ rw\n"     \
	"29 21 8:1 /sub /bind rw shared:1 - ext4 /dev/sda1 rw\n" \
	"garbage\n"                                              \
	"30 23 0:36 / /home/view ro - fuse.auger auger:1:/home rw\n"

static char path[64];

static struct shared *open_shared(const char *mounts, const char *target, const char *named)
{
	const struct shared_opts o = { target, &named, named != NULL, path };
	struct err e = { 0 };
	struct shared *s = NULL;
	FILE *f = fopen(path, "we");

	if (!f)
		return NULL;
	fputs(mounts, f);
	fclose(f);
	CHECK_INT(shared_open(&o, &s, &e), 0);
	return s;
}

static void test_has(void)
{
	static const struct {
		const char *target, *named, *path;
		bool has, has_mounts;
	} rows[] = {
		/* By the type of the file system. */
		{ "/", NULL, "", false, true },
		{ "/", NULL, "etc/hostname", false, false },
		{ "/", NULL, "proc/self", false, false },
		{ "/", NULL, "home", true, true },
		{ "/", NULL, "home/me/x", true, false },
		{ "/", NULL, "homes/x", false, false },
		{ "/", NULL, "home/view/x", false, false },
		{ "/", NULL, "lus/x", true, false },
		{ "/", NULL, "lus", true, true },
		{ "/", NULL, "lus/local", false, false },
		{ "/", NULL, "lus/local/x", false, false },
		{ "/", NULL, "cvmfs/a b/x", true, false },
		{ "/", NULL, "ceph/x", true, false },
		{ "/", NULL, "sshfs/x", false, false },
		/* What the user calls shared, without what is mounted below it. */
		{ "/", "/opt/", "opt/x", true, false },
		{ "/", "/opt", "opt", true, false },
		{ "/", "/opt", "options", false, false },
		{ "/", "/lus/local", "lus/local/x", true, false },
		{ "/", "/lus/local/x", "lus/local/y", false, false },
		{ "/", "/", "etc", true, false },
		{ "/", "/", "proc/self", false, false },
		/* A target of its own. */
		{ "/usr", NULL, "lib/x", true, false },
		{ "/usr", NULL, "", true, false },
		{ "/lus/local", NULL, "x", true, false },
		{ "/bind", NULL, "x", true, false },
		{ "/home", NULL, "view/x", false, false },
		{ "/home", NULL, "x", true, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct shared *s = open_shared(MOUNTS, rows[i].target, rows[i].named);

		if (!s)
			continue;
		if (!CHECK_INT(shared_has(s, rows[i].path), rows[i].has) ||
		    !CHECK_INT(shared_has_mounts(s, rows[i].path), rows[i].has_mounts))
			fprintf(stderr, "row %zu\n", i);
		shared_close(s);
	}
}

/* The same on two nodes, whose devices and order of mounts differ. */
static void test_fs(void)
{
	static const char other[] = "41 1 8:17 / / rw - ext4 /dev/sdb1 rw\n"
				    "42 41 0:99 / /lus rw - lustre mgs@o2ib:/lus rw\n"
				    "43 41 0:98 / /home rw - nfs4 server:/home rw\n";
	struct shared *one = open_shared(MOUNTS, "/", NULL);
	struct shared *two = open_shared(other, "/", NULL);

	if (one && two) {
		uint64_t lus = shared_fs(one, makedev(0, 31)),
			 home = shared_fs(one, makedev(0, 30));

		CHECK(lus && home && lus != home);
		CHECK(shared_fs(two, makedev(0, 99)) == lus);
		CHECK(shared_fs(two, makedev(0, 98)) == home);
		CHECK(shared_fs(one, makedev(8, 1)) != shared_fs(two, makedev(8, 17)));
		CHECK(shared_fs(one, makedev(7, 7)) == shared_fs(one, makedev(8, 1)));
	}
	shared_close(one);
	shared_close(two);
	one = open_shared(MOUNTS, "/bind", NULL);
	two = open_shared(MOUNTS, "/", NULL);
	if (one && two)
		CHECK(shared_fs(one, makedev(8, 1)) != shared_fs(two, makedev(8, 1)));
	shared_close(one);
	shared_close(two);
}

static void test_wrong(void)
{
	const char *relative = "opt";
	struct shared_opts o = { "/", &relative, 1, NULL };
	struct shared *s = NULL;
	struct err e = { 0 };

	CHECK(shared_open(&o, &s, &e) < 0 && strstr(e.msg, "'opt' is not an absolute path"));
	o = (struct shared_opts){ "/", NULL, 0, "/nonexistent/mountinfo" };
	CHECK_INT(shared_open(&o, &s, &e), -2);
	o.mountinfo = NULL;
	CHECK_INT(shared_open(&o, &s, &e), 0);
	CHECK(!shared_has(s, "proc/self"));
	shared_close(s);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, sizeof path, "%.32s/test_shared-XXXXXX", tmp ? tmp : "/tmp");
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	TAP_CASE(test_has);
	TAP_CASE(test_fs);
	TAP_CASE(test_wrong);
	unlink(path);
	return tap_done();
}
