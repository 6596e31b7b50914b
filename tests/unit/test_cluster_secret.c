/* SPDX-License-Identifier: MIT */
#include "cluster/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tap.h"

#define NOBODY 65534

static char folder[128]; /* main() makes it, and moves there */

static void write_secret(const char *path, size_t len, mode_t mode)
{
	static const char bytes[64] = "0123456789abcdef0123456789ABCDEF0123456789abcdef";
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (CHECK(fd >= 0)) {
		CHECK_INT(file_write_all(fd, bytes, len), 0);
		CHECK_INT(fchmod(fd, mode), 0);
		close(fd);
	}
}

static void test_load(void)
{
	static const struct {
		size_t len;
		mode_t mode;
		int want;
	} rows[] = {
		{ 32, 0600, 0 },       { 32, 0400, 0 },       { 32, 0640, -EACCES },
		{ 32, 0604, -EACCES }, { 32, 0602, -EACCES }, { 32, 0610, -EACCES },
		{ 31, 0600, -EINVAL }, { 33, 0600, -EINVAL }, { 0, 0600, -EINVAL },
	};
	struct secret s;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		write_secret("s", rows[i].len, rows[i].mode);
		CHECK_INT(secret_load("s", &s, &e), rows[i].want);
		if (!rows[i].want)
			CHECK(memcmp(s.bytes, "0123456789abcdef0123456789ABCDEF", 32) == 0);
	}
	CHECK_INT(secret_load("none", &s, &e), -ENOENT);
	CHECK_INT(secret_load(".", &s, &e), -EACCES);
	unlink("s");
}

static void test_planted(void)
{
	struct secret s;
	struct err e;

	write_secret("s", 32, 0600);
	CHECK_INT(symlink("s", "link"), 0);
	CHECK_INT(secret_load("link", &s, &e), -EACCES);
	CHECK_INT(mkfifo("fifo", 0600), 0);
	CHECK_INT(secret_load("fifo", &s, &e), -EACCES); /* and does not wait */
	if (geteuid() == 0) {
		CHECK_INT(chown("s", NOBODY, NOBODY), 0);
		CHECK_INT(secret_load("s", &s, &e), -EACCES);
		CHECK(strstr(e.msg, "65534") != NULL);
	}
	unlink("s");
	unlink("link");
	unlink("fifo");
}

static void test_create(void)
{
	struct secret first, second;
	struct stat st;
	struct err e;

	CHECK_INT(secret_create("new", &e), 0);
	CHECK_INT(stat("new", &st), 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	CHECK_INT(secret_load("new", &first, &e), 0);
	CHECK_INT(secret_create("new", &e), -EEXIST);
	CHECK_INT(symlink("elsewhere", "planted"), 0);
	CHECK_INT(secret_create("planted", &e), -EEXIST);
	CHECK_INT(access("elsewhere", F_OK), -1);
	unlink("new");
	CHECK_INT(secret_create("new", &e), 0);
	CHECK_INT(secret_load("new", &second, &e), 0);
	CHECK(memcmp(first.bytes, second.bytes, SECRET_BYTES) != 0);
	unlink("new");
	unlink("planted");
	secret_fini(&second);
	for (size_t i = 0; i < SECRET_BYTES; i++)
		CHECK_INT(second.bytes[i], 0);
}

int main(void)
{
	if (!mkdtemp(tap_pattern(folder, sizeof(folder))) || chdir(folder) < 0)
		return 1;
	TAP_CASE(test_load);
	TAP_CASE(test_planted);
	TAP_CASE(test_create);
	if (chdir("/") < 0 || rmdir(folder) < 0)
		perror(folder);
	return tap_done();
}
