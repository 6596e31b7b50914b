/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/* Another user cuts it while it is read. */
static void test_load_of_a_file_that_shrinks(void)
{
	static char bytes[64 * 1024];
	struct file_input in = { 0 };
	struct err e = { 0 };
	int fd = open("some", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	memset(bytes, 'x', sizeof bytes);
	CHECK_INT(file_write_all(fd, bytes, sizeof bytes), 0);
	CHECK_INT(file_load("some", &in, &e), 0);
	CHECK_INT(file_input_check(&in, "some", &e), 0);
	CHECK_INT(ftruncate(fd, 1), 0);
	CHECK_INT(in.data[sizeof bytes - 1], 0);
	CHECK_INT(file_input_check(&in, "some", &e), -ESTALE);
	CHECK_STR(e.msg, "some: became shorter while it was read");
	file_input_fini(&in);
	close(fd);
	unlink("some");
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

/* What is no regular file is never opened: not even when it takes the place of one meanwhile. */
static void test_open_regular(void)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd, opened = 0;
	char events[4096];
	struct err e = { 0 };

	write_file("some", "text");
	CHECK(symlink("some", "link") == 0 && mkfifo("fifo", 0600) == 0);
	CHECK(inotify_add_watch(watch, "fifo", IN_OPEN) >= 0);
	for (unsigned i = 0; i < 2000; i++) {
		fd = file_open_regular("fifo", 0, &e);
		opened += fd != -EINVAL;
		if (fd >= 0)
			close(fd);
	}
	CHECK_INT(opened, 0);
	CHECK_STR(e.msg, "fifo: not a regular file");
	CHECK(read(watch, events, sizeof events) < 0 && errno == EAGAIN);
	CHECK_INT(file_open_regular("/dev/null", 0, &e), -EINVAL);
	CHECK_INT(file_open_regular(".", 0, &e), -EINVAL);
	CHECK_INT(file_open_regular("missing", 0, &e), -ENOENT);
	CHECK_INT(file_open_regular("link", O_NOFOLLOW, &e), -ELOOP);
	fd = file_open_regular("link", 0, &e);
	CHECK(fd >= 0 && read(fd, events, sizeof events) == 4);
	close(fd);
	close(watch);
	CHECK(unlink("some") == 0 && unlink("link") == 0 && unlink("fifo") == 0);
}

/* Another process exchanges a file and a FIFO as fast as it can. */
static void test_load_regular(void)
{
	struct file_input in = { 0 };
	struct err e = { 0 };

	write_file("some", "text");
	CHECK(symlink("some", "link") == 0 && mkfifo("fifo", 0600) == 0);
	CHECK_INT(file_load_regular("some", &in, &e), 0);
	CHECK(in.len == 4 && memcmp(in.data, "text", 4) == 0);
	file_input_fini(&in);
	CHECK_INT(file_load_regular("link", &in, &e), -ELOOP);
	CHECK_INT(file_load_regular("fifo", &in, &e), -EINVAL);
	CHECK_INT(file_load_regular(".", &in, &e), -EINVAL);
	CHECK_INT(file_load_regular("/dev/null", &in, &e), -EINVAL);
	CHECK_INT(file_load_regular("-", &in, &e), -ENOENT);
	unlink("some");
	unlink("link");
	unlink("fifo");
}

static void test_open_regular_that_is_exchanged(void)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char events[4096];
	struct err e = { 0 };
	pid_t child;

	write_file("some", "text");
	CHECK(mkfifo("fifo", 0600) == 0 && inotify_add_watch(watch, "fifo", IN_OPEN) >= 0);
	child = fork();
	while (child == 0)
		syscall(SYS_renameat2, AT_FDCWD, "some", AT_FDCWD, "fifo", 2 /* RENAME_EXCHANGE */);
	for (unsigned i = 0; i < 20000; i++) {
		int fd = file_open_regular("some", 0, &e);

		if (fd >= 0)
			close(fd);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(read(watch, events, sizeof events) < 0 && errno == EAGAIN);
	close(watch);
	CHECK(unlink("some") == 0 && unlink("fifo") == 0);
}

int main(void)
{
	char folder[256];

	if (!mkdtemp(tap_pattern(folder, sizeof folder)) || chdir(folder) < 0)
		return 1;
	TAP_CASE(test_load);
	TAP_CASE(test_load_of_a_file_that_shrinks);
	TAP_CASE(test_load_of_standard_input);
	TAP_CASE(test_read_small);
	TAP_CASE(test_read_start);
	TAP_CASE(test_open_regular);
	TAP_CASE(test_load_regular);
	TAP_CASE(test_open_regular_that_is_exchanged);
	rmdir(folder);
	return tap_done();
}
