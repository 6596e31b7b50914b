/* SPDX-License-Identifier: MIT */
/* Files are asked for CPython by a child, which is left behind when a file hangs. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample/python/file_reader.h"
#include "tap.h"

#define LONG_NS INT64_C(60000000000)

static void put(struct file_reader *a, uint32_t number, const char *path)
{
	struct file_reader_request r = { .number = number };

	snprintf(r.path, sizeof r.path, "%s", path);
	CHECK_INT(file_reader_put(a, &r), 0);
}

/* Replies come in order; what is no ELF file, or is not there, has no CPython. */
static void test_replies(void)
{
	struct file_reader a = { 0 };
	struct file_reader_reply reply;
	char self[PATH_MAX] = "";

	CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	put(&a, 7, self);
	put(&a, 8, "/nothing/here");
	put(&a, 9, "/etc/passwd");
	for (uint32_t i = 7; i <= 9; i++) {
		if (!CHECK(file_reader_wait(&a, LONG_NS, &reply)))
			break;
		CHECK_INT(reply.number, i);
		CHECK_INT(reply.info.minor, 0);
		CHECK((reply.info.inode != 0) == (i != 8 && i != 9));
	}
	CHECK(!file_reader_is_busy(&a));
	CHECK(!file_reader_wait(&a, LONG_NS, &reply));
	file_reader_fini(&a);
}

/* A child that does not go on: its request ends, the next one has a new child. */
static void test_hanging(void)
{
	struct file_reader a = { 0 };
	struct file_reader_reply reply;
	pid_t first;

	put(&a, 1, "/proc/self/exe");
	CHECK(file_reader_wait(&a, LONG_NS, &reply));
	first = a.child;
	CHECK_INT(kill(first, SIGSTOP), 0);
	put(&a, 2, "/proc/self/exe");
	put(&a, 3, "/proc/self/exe");
	CHECK(file_reader_wait(&a, LONG_NS, &reply));
	CHECK_INT(reply.number, 2);
	CHECK_INT(reply.info.inode, 0);
	CHECK_INT(a.losses, 1);
	CHECK(file_reader_wait(&a, LONG_NS, &reply));
	CHECK_INT(reply.number, 3);
	CHECK(reply.info.inode != 0 && a.child != first);
	file_reader_fini(&a);
}

/* Requests beyond the bound are refused; those with "python" in their names come first. */
static void test_queue(void)
{
	struct file_reader a = { 0 };
	struct file_reader_reply reply;
	struct file_reader_request r = { .path = "/nothing" };
	unsigned put_count = 0;

	while (put_count < 10000 && file_reader_put(&a, &r) == 0)
		put_count++;
	CHECK_INT(put_count, FILE_READER_QUEUE_MAX);
	file_reader_fini(&a);
	put(&a, 1, "/nothing/a");
	put(&a, 2, "/nothing/python3");
	CHECK(file_reader_wait(&a, LONG_NS, &reply));
	CHECK_INT(reply.number, 2);
	CHECK(file_reader_wait(&a, LONG_NS, &reply));
	CHECK_INT(reply.number, 1);
	file_reader_fini(&a);
}

int main(void)
{
	TAP_CASE(test_replies);
	TAP_CASE(test_hanging);
	TAP_CASE(test_queue);
	return tap_done();
}
