/* SPDX-License-Identifier: MIT */
#include "base/output/file_set.h"
#include "base/output/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tap.h"

#define NOBODY 65534

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

static void test_replace_makes_a_file(void)
{
	mode_t mask = umask(027);
	struct err e = { 0 };

	CHECK_INT(outfile_replace("new", "text", 4, &e), 0);
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
	CHECK_INT(outfile_replace("link", "new", 3, &e), 0);
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

	CHECK_INT(outfile_create("new", "one", 3, &e), 0);
	CHECK_INT(outfile_create("new", "two", 3, &e), -EEXIST);
	check_content("new", "one");
	write_file("other", "kept");
	CHECK_INT(outfile_move_new(AT_FDCWD, "new", AT_FDCWD, "other"), -EEXIST);
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
	CHECK_INT(outfile_replace("old", bytes, sizeof bytes, &e), -EFBIG);
	CHECK_STR(e.msg, "old: File too large");
	CHECK_INT(outfile_replace("new", bytes, sizeof bytes, &e), -EFBIG);
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

	CHECK_INT(outfile_replace("/dev/null", "text", 4, &e), 0);
	CHECK_INT(outfile_replace("/dev/full", "text", 4, &e), -ENOSPC);
	CHECK_STR(e.msg, "/dev/full: No space left on device");
	CHECK_INT(outfile_replace(".", "text", 4, &e), -EISDIR);
	CHECK_INT(outfile_replace("missing/new", "text", 4, &e), -ENOENT);
	CHECK_STR(e.msg, "missing/new: No such file or directory");
}

static void test_check_writable(void)
{
	struct err e = { 0 };

	write_file("old", "kept");
	CHECK_INT(outfile_check("-", &e), 0);
	CHECK_INT(outfile_check("old", &e), 0);
	CHECK_INT(outfile_check("new", &e), 0);
	CHECK_INT(outfile_check("/dev/null", &e), 0);
	CHECK_INT(outfile_check("missing/new", &e), -ENOENT);
	CHECK_STR(e.msg, "missing/new: No such file or directory");
	CHECK_INT(outfile_check(".", &e), -EISDIR);
	check_content("old", "kept");
	CHECK_INT(count_files(), 1);
	unlink("old");
}

/* As another user: what an attacker may do in a folder that all may write to. */
static void as_nobody(void (*act)(void))
{
	CHECK_INT(seteuid(NOBODY), 0);
	act();
	CHECK_INT(seteuid(0), 0);
}

static void plant_link(void)
{
	CHECK_INT(symlink("../secret", "shared/out"), 0);
}

static void plant_file(void)
{
	write_file("shared/out", "theirs");
	CHECK_INT(chmod("shared/out", 06777), 0);
}

static void plant_fifo(void)
{
	CHECK_INT(mkfifo("shared/out", 0666), 0);
}

static bool make_shared(void)
{
	if (geteuid() != 0) {
		SKIP("only root becomes another user");
		return false;
	}
	CHECK_INT(chmod(".", 0755), 0);
	CHECK_INT(mkdir("shared", 0777), 0);
	CHECK_INT(chmod("shared", 01777), 0);
	return true;
}

static void remove_shared(void)
{
	unlink("shared/out");
	rmdir("shared");
}

/* What nobody planted as shared/out is neither followed nor replaced. */
static void check_refused(const char *why)
{
	struct outfile f;
	struct err e = { 0 };
	int fd = -1;

	CHECK_INT(outfile_replace("shared/out", "ours", 4, &e), -EACCES);
	CHECK_STR(e.msg, why);
	CHECK_INT(outfile_create("shared/out", "ours", 4, &e), -EACCES);
	CHECK_INT(outfile_check("shared/out", &e), -EACCES);
	CHECK_INT(outfile_begin("shared/out", &f, &e), -EACCES);
	CHECK_INT(outfile_open_stream("shared/out", &fd, &e), -EACCES);
	CHECK_INT(fd, -1);
}

static void test_other_users_link_is_not_followed(void)
{
	if (!make_shared())
		return;
	write_file("secret", "kept");
	as_nobody(plant_link);
	check_refused("shared/out: does not follow another user's link in a shared folder");
	check_content("secret", "kept");
	/* The same link in a folder of ours. */
	CHECK_INT(chmod("shared", 0755), 0);
	CHECK_INT(outfile_replace("shared/out", "new", 3, &(struct err){ 0 }), 0);
	check_content("secret", "new");
	unlink("secret");
	remove_shared();
}

static void test_other_users_folder_link_is_not_followed(void)
{
	struct err e = { 0 };

	if (!make_shared())
		return;
	CHECK_INT(mkdir("own", 0755), 0);
	CHECK_INT(symlink("../own", "shared/out"), 0);
	CHECK_INT(outfile_replace("shared/out/new", "ours", 4, &e), 0);
	check_content("own/new", "ours");
	CHECK_INT(lchown("shared/out", NOBODY, NOBODY), 0);
	CHECK_INT(outfile_replace("shared/out/new", "more", 4, &e), -EACCES);
	check_content("own/new", "ours");
	unlink("own/new");
	rmdir("own");
	remove_shared();
}

static void test_other_users_file_is_refused(void)
{
	static const char why[] = "shared/out: belongs to another user, in a shared folder";

	if (!make_shared())
		return;
	as_nobody(plant_file);
	check_refused(why);
	check_content("shared/out", "theirs");
	unlink("shared/out");
	as_nobody(plant_fifo);
	check_refused(why);
	remove_shared();
}

/* A mode that another user chose is not taken over, and set-id bits never are. */
static void test_modes(void)
{
	mode_t mask = umask(022);
	struct err e = { 0 };

	write_file("old", "ours");
	CHECK_INT(chmod("old", 06755), 0);
	CHECK_INT(outfile_replace("old", "new", 3, &e), 0);
	CHECK_INT(mode_of("old"), 0755);
	if (geteuid() == 0) {
		CHECK_INT(chown("old", NOBODY, NOBODY), 0);
		CHECK_INT(chmod("old", 06777), 0);
		CHECK_INT(outfile_replace("old", "new", 3, &e), 0);
		CHECK_INT(mode_of("old"), 0644);
	}
	umask(mask);
	unlink("old");
}

/* Until it is complete, nobody else reads it, and where the file system can do that it has no name
 * that would be left behind by a process that is killed. */
static void test_temporary_is_private(void)
{
	int probe = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct outfile f;
	struct stat st = { 0 };
	struct err e = { 0 };

	close(probe);
	if (!CHECK_INT(outfile_begin("new", &f, &e), 0))
		return;
	CHECK_INT(fstat(f.fd, &st), 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	CHECK_INT(count_files(), probe < 0);
	CHECK_INT(outfile_sync(&f, &e), 0);
	CHECK_INT(outfile_commit(&f, true, &e), 0);
	CHECK_INT(count_files(), 1);
	unlink("new");
	CHECK_INT(outfile_begin("new", &f, &e), 0);
	outfile_discard(&f);
	outfile_discard(&f);
	CHECK_INT(count_files(), 0);
}

static void test_paths(void)
{
	static const struct {
		const char *path;
		int rc;
	} rows[] = {
		{ "", -ENOENT },          { "/", -EISDIR },       { "a/", -EISDIR },
		{ "a/..", -EISDIR },      { "a/.", -EISDIR },     { "..", -EISDIR },
		{ "missing/x", -ENOENT }, { "file/x", -ENOTDIR }, { "loop", -ELOOP },
		{ "loop/x", -ELOOP },     { "a//../a/./x", 0 },   { "up/a/x", 0 },
		{ "dangling", 0 },
	};
	char name[300];

	CHECK_INT(mkdir("a", 0755), 0);
	write_file("file", "");
	CHECK_INT(symlink("loop", "loop"), 0);
	CHECK_INT(symlink("a/..", "up"), 0);
	CHECK_INT(symlink("a/x", "dangling"), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e = { 0 };

		if (CHECK_INT(outfile_replace(rows[i].path, "text", 4, &e), rows[i].rc) &&
		    rows[i].rc == 0)
			check_content("a/x", "text");
		unlink("a/x");
	}
	/* A name as long as it can be has a temporary, too; a longer one is an error. */
	memset(name, 'n', sizeof name);
	name[NAME_MAX] = '\0';
	CHECK_INT(outfile_replace(name, "text", 4, &(struct err){ 0 }), 0);
	unlink(name);
	name[NAME_MAX] = 'n';
	name[NAME_MAX + 1] = '\0';
	CHECK_INT(outfile_replace(name, "text", 4, &(struct err){ 0 }), -ENAMETOOLONG);
	unlink("up");
	unlink("dangling");
	unlink("loop");
	unlink("file");
	rmdir("a");
}

/* By /proc/self/fd, as /dev/stdout is: a file that is open gets the bytes behind what it has. */
static void test_open_files_are_appended_to(void)
{
	struct err e = { 0 };
	char path[64];
	int fd = open("log", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	CHECK_INT(file_write_all(fd, "one", 3), 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	CHECK_INT(outfile_replace(path, "two", 3, &e), 0);
	check_content("log", "onetwo");
	CHECK_INT(count_files(), 1);
	close(fd);
	unlink("log");
}

static int replace_at(const char *name)
{
	struct err e = { 0 };
	int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = outfile_replace_at(folder, name, name, "text", 4, &e);

	CHECK(rc == 0 || e.msg[0]);
	close(folder);
	return rc;
}

/* In a folder where others may write: only a regular file of ours is replaced, nothing is opened.
 */
static void test_replace_at(void)
{
	char name[NAME_MAX + 2];

	CHECK_INT(replace_at("out"), 0);
	write_file("out", "old text");
	CHECK_INT(replace_at("out"), 0);
	check_content("out", "text");
	CHECK_INT(symlink("out", "link"), 0);
	CHECK_INT(symlink("none", "dangling"), 0);
	CHECK_INT(mkfifo("fifo", 0600), 0);
	CHECK_INT(mkdir("folder", 0700), 0);
	for (const char *const *at =
		     (const char *const[]){ "link", "dangling", "fifo", "folder", NULL };
	     *at; at++)
		CHECK_INT(replace_at(*at), -EEXIST);
	if (geteuid() == 0) {
		CHECK_INT(chown("out", NOBODY, NOBODY), 0);
		CHECK_INT(replace_at("out"), -EEXIST);
	}
	check_content("out", "text");
	memset(name, 'n', sizeof name);
	name[NAME_MAX + 1] = '\0';
	CHECK_INT(replace_at(name), -ENAMETOOLONG);
	CHECK_INT(count_files(), 5);
	for (const char *const *at =
		     (const char *const[]){ "link", "dangling", "fifo", "out", NULL };
	     *at; at++)
		unlink(*at);
	rmdir("folder");
}

int main(void)
{
	char folder[] = "/tmp/auger-test-outfile.XXXXXX";

	if (!mkdtemp(folder) || chdir(folder) < 0)
		return 1;
	TAP_CASE(test_replace_makes_a_file);
	TAP_CASE(test_replace_keeps_mode_and_link);
	TAP_CASE(test_create_replaces_nothing);
	TAP_CASE(test_failure_leaves_what_was_there);
	TAP_CASE(test_set_is_all_or_nothing);
	TAP_CASE(test_devices_are_written_directly);
	TAP_CASE(test_check_writable);
	TAP_CASE(test_other_users_link_is_not_followed);
	TAP_CASE(test_other_users_folder_link_is_not_followed);
	TAP_CASE(test_other_users_file_is_refused);
	TAP_CASE(test_modes);
	TAP_CASE(test_temporary_is_private);
	TAP_CASE(test_paths);
	TAP_CASE(test_open_files_are_appended_to);
	TAP_CASE(test_replace_at);
	rmdir(folder);
	return tap_done();
}
