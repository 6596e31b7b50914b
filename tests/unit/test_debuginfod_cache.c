/* SPDX-License-Identifier: MIT */
#include "symbol/elf/debuginfod_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#define OLD ".debuginfod_client_cache"

static char folder[] = "/tmp/auger-cache-XXXXXX";

static void put_path(struct buf *to, const char *name)
{
	buf_clear(to);
	buf_printf(to, "%s/%s", folder, name);
	if (buf_error(to) < 0)
		abort();
}

static int make(const char *name)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct err e;

	put_path(&path, name);
	return debuginfod_cache_make(path.data, &e);
}

static void test_makes(void)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct stat st;

	CHECK_INT(make("a/b//c/"), 0);
	CHECK_INT(make("a/b/c"), 0);
	put_path(&path, "a/b/c");
	CHECK(stat(path.data, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
	CHECK_INT(rmdir(path.data), 0);
}

/* A folder where others can write: nothing may be below it, unless it is sticky. */
static void test_refuses(void)
{
	CLEANUP(buf_fini) struct buf path = { 0 }, to = { 0 };
	struct err e;

	put_path(&path, "a/b");
	CHECK_INT(chmod(path.data, 0770), 0);
	CHECK_INT(make("a/b"), -EACCES);
	CHECK_INT(make("a/b/c"), -EACCES);
	CHECK_INT(chmod(path.data, 01777), 0);
	CHECK_INT(make("a/b"), -EACCES);
	CHECK_INT(make("a/b/c"), 0);
	put_path(&to, "link");
	CHECK_INT(symlink("a", to.data), 0);
	CHECK_INT(make("link"), -ENOTDIR);
	CHECK_INT(make("link/d"), -ENOTDIR);
	CHECK_INT(debuginfod_cache_make("a", &e), -EINVAL);
	CHECK_INT(debuginfod_cache_make("", &e), -EINVAL);
	put_path(&path, "a/b/c");
	CHECK_INT(rmdir(path.data), 0);
	put_path(&path, "a/b");
	CHECK_INT(rmdir(path.data), 0);
	put_path(&path, "a");
	CHECK_INT(rmdir(path.data), 0);
	CHECK_INT(unlink(to.data), 0);
}

static void check_path(const char *want)
{
	CLEANUP(buf_fini) struct buf path = { 0 };

	debuginfod_cache_path(&path);
	CHECK_INT(buf_error(&path), 0);
	CHECK_STR(path.data, want);
}

/* As the library chooses. */
static void test_path(void)
{
	CLEANUP(buf_fini) struct buf want = { 0 }, old = { 0 };

	setenv("HOME", folder, 1);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	put_path(&want, ".cache/debuginfod_client");
	check_path(want.data);
	setenv("XDG_CACHE_HOME", "/xdg", 1);
	check_path("/xdg/debuginfod_client");
	put_path(&old, OLD);
	CHECK_INT(mkdir(old.data, 0700), 0);
	check_path(old.data);
	CHECK_INT(rmdir(old.data), 0);
	setenv("DEBUGINFOD_CACHE_PATH", "/chosen", 1);
	check_path("/chosen");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	TAP_CASE(test_makes);
	TAP_CASE(test_refuses);
	TAP_CASE(test_path);
	if (rmdir(folder) < 0)
		return 1;
	return tap_done();
}
