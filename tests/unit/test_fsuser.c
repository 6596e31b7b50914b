/* SPDX-License-Identifier: MIT */
#include "base/output/fsuser.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define NOBODY 65534

static int open_code(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* In a thread: the other threads keep their rights meanwhile. */
static void *use(void *closed)
{
	static const struct fsuser nobody = { .uid = NOBODY, .gid = NOBODY };
	struct fsuser own, again;
	struct err e = { 0 };

	fsuser_read(&own);
	CHECK_INT(fsuser_enter(&nobody, &e), 0);
	CHECK_INT(fsuser_uid(), NOBODY);
	CHECK_INT(open_code(closed, O_RDONLY), EACCES);
	CHECK(fsuser_leave(&own));
	fsuser_read(&again);
	CHECK_INT(again.uid, own.uid);
	CHECK_INT(again.gid, own.gid);
	CHECK_INT(again.count, own.count);
	CHECK_INT(open_code(closed, O_RDONLY), 0);
	return NULL;
}

static void test_thread(void)
{
	char closed[] = "/tmp/auger-test-fsuser.XXXXXX";
	int fd = mkstemp(closed);
	pthread_t thread;

	if (CHECK(fd >= 0) && geteuid() == 0 &&
	    CHECK_INT(pthread_create(&thread, NULL, use, closed), 0)) {
		CHECK_INT(open_code(closed, O_RDONLY), 0);
		pthread_join(thread, NULL);
	}
	close(fd);
	unlink(closed);
}

/* A user who is not root: others' rights are refused, his own are no change. */
static void test_refused(void)
{
	const struct fsuser root = { .uid = 0, .gid = 0 };
	struct fsuser own;
	struct err e = { 0 };
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
			_exit(1);
		fsuser_read(&own);
		if (fsuser_enter(&root, &e) != -EPERM || !e.msg[0] || fsuser_uid() != own.uid)
			_exit(2);
		if (fsuser_enter(&own, &e) != 0 || !fsuser_leave(&own))
			_exit(3);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
}

int main(void)
{
	TAP_CASE(test_thread);
	TAP_CASE(test_refused);
	return tap_done();
}
