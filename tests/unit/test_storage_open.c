/* SPDX-License-Identifier: MIT */
/* Storage that does not reply is a case of tests/live/hung.py. */
#include "base/storage/storage_open.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "tap.h"

static char folder[] = "/tmp/auger-storage-XXXXXX", cwd[4096];

/* What there is to open, by path. */
static void make_files(void)
{
	int fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, "text", 4) == 4);
	close(fd);
	CHECK_INT(mkfifo("fifo", 0600), 0);
	CHECK_INT(symlink("file", "link"), 0);
	CHECK_INT(mkdir("sub", 0700), 0);
	CHECK_INT(symlink("../file", "sub/up"), 0);
}

static void remove_files(void)
{
	static const char *const names[] = { "file", "fifo", "link", "sub/up" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unlink(names[i]);
	rmdir("sub");
}

static bool has_text(int fd)
{
	char text[8];

	return read(fd, text, sizeof text) == 4 && memcmp(text, "text", 4) == 0;
}

static void check_path(const char *path, int flags, int want)
{
	struct err e;
	CLEANUP(fd_close) int fd = storage_open_regular(path, flags, &e);

	CHECK_INT(fd < 0 ? fd : 0, want);
	if (fd >= 0)
		CHECK(has_text(fd));
}

static void test_paths(void)
{
	static const struct {
		const char *path;
		int flags, want;
	} rows[] = {
		{ "file", 0, 0 },
		{ "./file", O_NOFOLLOW, 0 },
		{ "sub//../file", 0, 0 },
		{ "link", 0, 0 },
		{ "link", O_NOFOLLOW, -ELOOP },
		{ "sub/up", 0, 0 },
		{ "fifo", 0, -EINVAL },
		{ "sub", 0, -EINVAL },
		{ "none", 0, -ENOENT },
		{ "no/ne", 0, -ENOENT },
		{ "file/x", 0, -ENOTDIR },
		{ "", 0, -ENOENT },
		{ "/proc/self/root", 0, -EINVAL },
		{ "/proc/self/root/none", 0, -ENOENT },
		{ "/proc/none", 0, -ENOENT },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_path(rows[i].path, rows[i].flags, rows[i].want);
}

/* By way of /proc, as files of other processes are. */
static void test_proc(void)
{
	char path[8192], shm[] = "/dev/shm/auger-storage-XXXXXX";
	int fd;

	snprintf(path, sizeof path, "/proc/self/root%s/file", folder);
	check_path(path, 0, 0);
	snprintf(path, sizeof path, "/proc/%d/root%s/none", (int)getpid(), folder);
	check_path(path, 0, -ENOENT);
	fd = open("file", O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	check_path(path, 0, 0);
	close(fd);
	fd = mkstemp(shm); /* a file system without a device */
	if (fd < 0)
		return;
	CHECK_INT(write(fd, "text", 4), 4);
	for (int i = 0; i < 3; i++)
		check_path(shm, 0, 0);
	unlink(shm);
	close(fd);
}

static void must_not_be_called(int fd)
{
	(void)fd;
	for (;;)
		pause();
}

static void test_local_files_are_not_read(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	if (st.st_dev >> 8) /* it has a device */
		CHECK(storage_replies(fd, must_not_be_called));
	close(fd);
}

int main(void)
{
	if (!CHECK(getcwd(cwd, sizeof cwd) && mkdtemp(folder) && chdir(folder) == 0))
		return 1;
	make_files();
	TAP_CASE(test_paths);
	TAP_CASE(test_proc);
	TAP_CASE(test_local_files_are_not_read);
	remove_files();
	if (chdir(cwd) < 0 || rmdir(folder) < 0)
		return 1;
	return tap_done();
}
