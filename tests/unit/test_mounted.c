/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/mounted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tap.h"

#define OURS(id, parent, point, source, owner)                                      \
#id " " #parent " 0:57 / " point " ro,nosuid shared:1 - fuse.auger " source \
	    " ro,user_id=" #owner ",group_id=0\n"
#define OTHER(id, parent, point) #id " " #parent " 0:60 / " point " rw - tmpfs none rw\n"

static void test_find(void)
{
	static const struct {
		const char *text, *view;
		bool found;
		pid_t daemon;
		uid_t owner;
		const char *target;
	} rows[] = {
		{ OURS(41, 27, "/v", "auger:12:/usr", 7), "/v", true, 12, 7, "/usr" },
		{ OURS(41, 27, "/v", "auger:12:/usr", 7), "/v/x", false, 0, 0, "" },
		{ OURS(41, 27, "/v", "auger:12:/usr", 7), "/", false, 0, 0, "" },
		{ OURS(41, 27, "/a\\040b", "auger:12:/c\\134\\012:e", 0), "/a b", true, 12, 0,
		  "/c\\\n:e" },
		{ OURS(41, 27, "/v", "auger:12", 7), "/v", true, 12, 7, "" },
		{ OURS(41, 27, "/v", "auger:", 7), "/v", true, 0, 7, "" },
		{ OURS(41, 27, "/v", "else:12:/usr", 7), "/v", true, 0, 7, "" },
		{ OURS(41, 27, "/v", "auger:x:/usr", 7), "/v", true, 0, 7, "" },
		/* Stacked mounts: the topmost counts, in either order. */
		{ OURS(41, 27, "/v", "auger:12:/a", 7) OTHER(42, 41, "/v"), "/v", false, 0, 0, "" },
		{ OTHER(42, 41, "/v") OURS(41, 27, "/v", "auger:12:/a", 7), "/v", false, 0, 0, "" },
		{ OTHER(40, 27, "/v") OURS(41, 40, "/v", "auger:12:/a", 7), "/v", true, 12, 7,
		  "/a" },
		{ OURS(41, 40, "/v", "auger:12:/a", 7) OTHER(40, 27, "/v"), "/v", true, 12, 7,
		  "/a" },
		{ OURS(41, 27, "/v", "auger:12:/a", 7) OURS(43, 41, "/v", "auger:13:/b", 8), "/v",
		  true, 13, 8, "/b" },
		{ "", "/v", false, 0, 0, "" },
		{ "garbage\n - fuse.auger\n41 27 0:57\n", "/v", false, 0, 0, "" },
		{ "41 27 0:57 / /v ro - fuse.auger", "/v", false, 0, 0, "" },
		{ "41 27 0:57 / /v ro - fuse.auger auger:12:/a", "/v", true, 12, 0, "/a" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *text = strdup(rows[i].text);
		struct mounted got = { .daemon = 0 };

		if (!CHECK_INT(mounted_find_in(text, rows[i].view, &got), rows[i].found))
			fprintf(stderr, "row %zu\n", i);
		if (rows[i].found) {
			CHECK_INT(got.daemon, rows[i].daemon);
			CHECK_INT(got.owner, rows[i].owner);
			CHECK_STR(got.target, rows[i].target);
			CHECK(got.device == makedev(0, 57));
		}
		free(text);
	}
}

static void test_source(void)
{
	char source[MOUNTED_SOURCE_MAX], want[64], target[PATH_MAX];

	snprintf(want, sizeof want, "auger:%d:/a b", (int)getpid());
	mounted_source("/a b", source);
	CHECK_STR(source, want);
	memset(target, 'x', sizeof target - 1);
	target[sizeof target - 1] = '\0';
	snprintf(want, sizeof want, "auger:%d", (int)getpid());
	mounted_source(target, source);
	CHECK_STR(source, want);
}

/* A process that is not called auger, or is another user's, is not the daemon. */
static void test_daemon(void)
{
	struct mounted m = { .daemon = getpid(), .owner = geteuid() };

	CHECK_INT(mounted_open_daemon(&m), -1);
	m.daemon = 0;
	CHECK_INT(mounted_open_daemon(&m), -1);
	CHECK(!mounted_is_exiting(getpid()));
	CHECK(!mounted_is_exiting(-1));
}

static void test_resolve(void)
{
	char folder[] = "/tmp/auger-mounted-XXXXXX", link[64], got[PATH_MAX];
	struct err e = { 0 };

	if (!CHECK(mkdtemp(folder) != NULL))
		return;
	snprintf(link, sizeof link, "%s/link", folder);
	CHECK_INT(symlink(folder, link), 0);
	CHECK_INT(mounted_resolve(link, got, &e), 0);
	CHECK_STR(got, folder);
	CHECK_INT(chdir(folder), 0);
	CHECK_INT(mounted_resolve(".", got, &e), 0);
	CHECK_STR(got, folder);
	CHECK_INT(mounted_resolve("link/.//link/", got, &e), 0);
	CHECK_STR(got, folder);
	CHECK_INT(mounted_resolve("/", got, &e), 0);
	CHECK_STR(got, "/");
	CHECK(mounted_resolve("none", got, &e) < 0);
	CHECK(mounted_resolve("", got, &e) < 0);
	CHECK_INT(chdir("/"), 0);
	CHECK_INT(unlink(link), 0);
	CHECK_INT(rmdir(folder), 0);
}

int main(void)
{
	TAP_CASE(test_find);
	TAP_CASE(test_source);
	TAP_CASE(test_daemon);
	TAP_CASE(test_resolve);
	return tap_done();
}
