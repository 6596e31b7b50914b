/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/file_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "tap.h"

/* main() moves into a fresh folder, which each case leaves empty again. */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (CHECK(fd >= 0))
		CHECK_INT(file_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void check_content(const char *path, const char *want)
{
	struct file_input in = { 0 };
	struct err e = { 0 };

	if (CHECK_INT(file_load(path, &in, &e), 0) && CHECK_INT(in.len, strlen(want)))
		CHECK(in.len == 0 || memcmp(in.data, want, in.len) == 0);
	file_input_fini(&in);
}

/* Names in the folder, "." and ".." not counted. */
static int count_files(void)
{
	DIR *dir = opendir(".");
	int count = -2;

	while (dir && readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static mode_t mode_of(const char *path)
{
	struct stat st = { 0 };

	CHECK_INT(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void test_load(void)
{
	struct file_input in = { 0 };
	struct err e = { 0 };

	file_input_fini(&in);
	write_file("some", "text");
	check_content("some", "text");
	write_file("none", "");
	check_content("none", "");
	CHECK_INT(file_load("missing", &in, &e), -ENOENT);
	CHECK_STR(e.msg, "missing: No such file or directory");
	CHECK_INT(file_load(".", &in, &e), -EISDIR);
	CHECK_STR(e.msg, ".: is a directory");
	CHECK_INT(file_load("/proc/self/stat", &in, &e), 0);
	CHECK(in.len > 0 && !in.is_mapped);
	file_input_fini(&in);
	CHECK_INT(file_load("/dev/null", &in, &e), 0);
	CHECK_INT(in.len, 0);
	file_input_fini(&in);
	CHECK_INT(file_load("/dev/zero", &in, &e), -EFBIG);
	CHECK_STR(e.msg, "/dev/zero: more than 1048576 bytes");
	unlink("some");
	unlink("none");
}

/* More than one read, from a pipe that delivers in pieces. */
static void test_load_of_standard_input(void)
{
	static char bytes[50000];
	struct file_input in = { 0 };
	struct err e = { 0 };
	int ends[2], saved = dup(STDIN_FILENO);

	memset(bytes, 'x', sizeof bytes);
	if (!CHECK_INT(pipe(ends), 0))
		return;
	if (fork() == 0) {
		for (int i = 0; i < 5; i++)
			if (file_write_all(ends[1], bytes, sizeof bytes) < 0)
				_exit(1);
		_exit(0);
	}
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	CHECK_INT(file_load("-", &in, &e), 0);
	CHECK_INT(in.len, 5 * sizeof bytes);
	file_input_fini(&in);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void test_read_small(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct err e = { 0 };

	write_file("some", "text");
	CHECK_INT(file_read_small("some", 4, &text, &e), 0);
	CHECK_STR(text.data, "text");
	buf_clear(&text);
	CHECK_INT(file_read_small("some", 3, &text, &e), -EFBIG);
	CHECK_STR(e.msg, "some: more than 3 bytes");
	CHECK_INT(file_read_small("missing", 3, &text, &e), -ENOENT);
	buf_fini(&text);
	write_file("some", "");
	CHECK_INT(file_read_small("some", 3, &text, &e), 0);
	CHECK_STR(text.data, "");
	unlink("some");
}

static void test_read_start(void)
{
	char text[4] = "???";

	write_file("some", "four");
	CHECK_INT(file_read_start("some", text, sizeof text), 3);
	CHECK(strcmp(text, "fou") == 0);
	CHECK_INT(file_read_start("missing", text, sizeof text), 0);
	CHECK(text[0] == '\0');
	write_file("some", "");
	CHECK_INT(file_read_start("some", text, sizeof text), 0);
	unlink("some");
}

static void test_replace_makes_a_file(void)
{
	mode_t mask = umask(027);
	struct err e = { 0 };

	CHECK_INT(file_replace("new", "text", 4, &e), 0);
	check_content("new", "text");
	CHECK_INT(mode_of("new"), 0640);
	CHECK_INT(count_files(), 1);
	umask(mask);
	unlink("new");
}

static void test_replace_keeps_mode_and_link(void)
{
	struct stat st = { 0 };
	struct err e = { 0 };

	write_file("old", "a longer text");
	chmod("old", 0604);
	CHECK_INT(symlink("old", "link"), 0);
	CHECK_INT(file_replace("link", "new", 3, &e), 0);
	check_content("old", "new");
	CHECK_INT(mode_of("old"), 0604);
	CHECK_INT(lstat("link", &st), 0);
	CHECK(S_ISLNK(st.st_mode));
	CHECK_INT(count_files(), 2);
	unlink("old");
	unlink("link");
}

static void test_create_replaces_nothing(void)
{
	struct err e = { 0 };

	CHECK_INT(file_create("new", "one", 3, &e), 0);
	CHECK_INT(file_create("new", "two", 3, &e), -EEXIST);
	check_content("new", "one");
	write_file("other", "kept");
	CHECK_INT(file_move_new("new", "other"), -EEXIST);
	check_content("other", "kept");
	CHECK_INT(count_files(), 2);
	unlink("new");
	unlink("other");
}

/* A file system that is full, in the middle of the writing. */
static void test_failure_leaves_what_was_there(void)
{
	struct rlimit saved, small;
	struct err e = { 0 };
	char bytes[4096] = { 0 };

	write_file("old", "kept");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &saved);
	small = (struct rlimit){ 1000, saved.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	CHECK_INT(file_replace("old", bytes, sizeof bytes, &e), -EFBIG);
	CHECK_STR(e.msg, "old: File too large");
	CHECK_INT(file_replace("new", bytes, sizeof bytes, &e), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &saved);
	check_content("old", "kept");
	CHECK_INT(count_files(), 1);
	unlink("old");
}

/* The same of several files together. */
static void test_set_is_all_or_nothing(void)
{
	CLEANUP(file_set_fini) struct file_set set = { 0 };
	struct rlimit saved, small;
	struct err e = { 0 };
	char bytes[4096] = { 0 };

	write_file("old", "kept");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &saved);
	small = (struct rlimit){ 1000, saved.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	CHECK_INT(file_set_add(&set, "old", false, "new", 3, &e), 0);
	CHECK_INT(file_set_add(&set, "other", false, bytes, sizeof bytes, &e), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &saved);
	file_set_fini(&set);
	check_content("old", "kept");
	CHECK_INT(count_files(), 1);

	CHECK_INT(file_set_add(&set, "other", false, "two", 3, &e), 0);
	CHECK_INT(file_set_add(&set, "old", true, "new", 3, &e), 0);
	CHECK_INT(file_set_move(&set, &e), -EEXIST);
	CHECK_STR(e.msg, "old: File exists");
	file_set_fini(&set);
	CHECK_INT(count_files(), 1);

	CHECK_INT(file_set_add(&set, "old", false, "one", 3, &e), 0);
	CHECK_INT(file_set_add(&set, "other", true, "two", 3, &e), 0);
	check_content("old", "kept");
	CHECK_INT(file_set_move(&set, &e), 0);
	file_set_fini(&set);
	check_content("old", "one");
	check_content("other", "two");
	CHECK_INT(count_files(), 2);
	unlink("old");
	unlink("other");
}

static void test_devices_are_written_directly(void)
{
	struct err e = { 0 };

	CHECK_INT(file_replace("/dev/null", "text", 4, &e), 0);
	CHECK_INT(file_replace("/dev/full", "text", 4, &e), -ENOSPC);
	CHECK_STR(e.msg, "/dev/full: No space left on device");
	CHECK_INT(file_replace(".", "text", 4, &e), -EISDIR);
	CHECK_INT(file_replace("missing/new", "text", 4, &e), -ENOENT);
	CHECK_STR(e.msg, "missing/new: No such file or directory");
}

static void test_check_writable(void)
{
	struct err e = { 0 };

	write_file("old", "kept");
	CHECK_INT(file_check_writable("-", &e), 0);
	CHECK_INT(file_check_writable("old", &e), 0);
	CHECK_INT(file_check_writable("new", &e), 0);
	CHECK_INT(file_check_writable("/dev/null", &e), 0);
	CHECK_INT(file_check_writable("missing/new", &e), -ENOENT);
	CHECK_STR(e.msg, "missing/new: No such file or directory");
	CHECK_INT(file_check_writable(".", &e), -EISDIR);
	check_content("old", "kept");
	CHECK_INT(count_files(), 1);
	unlink("old");
}

int main(void)
{
	char folder[] = "/tmp/auger-test-file.XXXXXX";

	if (!mkdtemp(folder) || chdir(folder) < 0)
		return 1;
	TAP_CASE(test_load);
	TAP_CASE(test_load_of_standard_input);
	TAP_CASE(test_read_small);
	TAP_CASE(test_read_start);
	TAP_CASE(test_replace_makes_a_file);
	TAP_CASE(test_replace_keeps_mode_and_link);
	TAP_CASE(test_create_replaces_nothing);
	TAP_CASE(test_failure_leaves_what_was_there);
	TAP_CASE(test_set_is_all_or_nothing);
	TAP_CASE(test_devices_are_written_directly);
	TAP_CASE(test_check_writable);
	rmdir(folder);
	return tap_done();
}
