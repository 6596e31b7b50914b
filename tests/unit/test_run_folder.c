/* SPDX-License-Identifier: MIT */
#include "source/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define RANKS 16

static char folder[] = "/tmp/test_run_folder-XXXXXX";

/* The name that a launch gets for "job"; "": none. */
static const char *make_as(const char *name, bool is_named, const char *id)
{
	static char ret[64];
	CLEANUP(buf_fini) struct buf path = { 0 }, run = { 0 };
	struct err e = { 0 };

	buf_put_str(&path, name);
	if (id)
		buf_put_str(&run, id);
	if (run_folder_make(&path, is_named, id ? &run : NULL, &e) < 0)
		return "";
	snprintf(ret, sizeof ret, "%s", path.data);
	return ret;
}

/* Launches do not mix, in any order, and an id is compared as a whole. */
static void test_launches(void)
{
	CHECK_STR(make_as("job", false, "1.0"), "job");
	CHECK_STR(make_as("job", false, "1.1"), "job-2");
	CHECK_STR(make_as("job", false, "1"), "job-3");
	CHECK_STR(make_as("job", false, ""), "job-4");
	CHECK_STR(make_as("job", false, "1.1"), "job-2");
	CHECK_STR(make_as("job", false, "1.0"), "job");
	CHECK_STR(make_as("job", false, ""), "job-4");
	CHECK_STR(make_as("job", true, NULL), "job");
	CHECK_STR(make_as("none/job", true, "1"), "");
}

/* A file and a link are not taken, but for a link that the user names; a folder that the user has
 * made is. */
static void test_others(void)
{
	FILE *file = fopen("taken", "w");

	if (!CHECK(file))
		return;
	fclose(file);
	CHECK_STR(make_as("taken", false, "1"), "taken-2");
	CHECK_STR(make_as("taken", true, "1"), "");
	CHECK_INT(mkdir("mine", 0700), 0);
	CHECK_INT(symlink("mine", "link"), 0);
	CHECK_STR(make_as("link", false, "1"), "link-2");
	CHECK_STR(make_as("link", true, "1"), "link");
	CHECK_STR(make_as("mine", true, "1"), "mine");
	CHECK_INT(mkdir("odd", 0700), 0);
	CHECK_INT(mkfifo("odd/.run", 0600), 0);
	CHECK_STR(make_as("odd", false, "1"), "");
}

/* Where all may make folders, that of another user is not taken. */
static void test_shared(void)
{
	if (geteuid() != 0) {
		SKIP("not root");
		return;
	}
	CHECK_INT(mkdir("shared", 0777), 0);
	CHECK_INT(chmod("shared", 01777), 0);
	CHECK_INT(mkdir("shared/theirs", 0777), 0);
	CHECK_INT(chown("shared/theirs", 65534, 65534), 0);
	CHECK_STR(make_as("shared/theirs", false, "1"), "shared/theirs-2");
	CHECK_STR(make_as("shared/theirs", false, "1"), "shared/theirs-2");
	CHECK_STR(make_as("shared/theirs", true, "1"), "shared/theirs");
	CHECK_INT(chmod("shared", 0755), 0);
	CHECK_STR(make_as("shared/theirs", false, "1"), "shared/theirs");
}

/* Ranks of two launches that start at once. */
static void test_at_once(void)
{
	int taken[2] = { 0 }, status;

	for (int i = 0; i < RANKS; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			const char *name = make_as("both", false, i % 2 ? "odd" : "even");

			_exit(strcmp(name, "both") == 0     ? i % 2
			      : strcmp(name, "both-2") == 0 ? 2 + i % 2
							    : 9);
		}
	}
	for (int i = 0; i < RANKS; i++) {
		if (!CHECK(wait(&status) > 0 && WIFEXITED(status)))
			continue;
		if (CHECK(WEXITSTATUS(status) < 4))
			taken[WEXITSTATUS(status) / 2] |= 1 << WEXITSTATUS(status) % 2;
	}
	CHECK(taken[0] + taken[1] == 3 && taken[0] && taken[1]); /* one each */
}

static void test_ids(void)
{
	struct job_place place = { .name_space = "ns", .restart = "1", .job = "7" };
	CLEANUP(buf_fini) struct buf a = { 0 }, b = { 0 }, c = { 0 };

	run_put_id(&place, &a);
	CHECK_STR(a.data, "ns.1");
	place = (struct job_place){ .job = "7", .array_task = "3", .step = "0" };
	run_put_id(&place, &b);
	CHECK_STR(b.data, "7.3.0");
	place = (struct job_place){ .size = "4", .local_size = "4" };
	run_put_id(&place, &c); /* no launcher is above this test */
	CHECK_INT(c.len, 0);
	CHECK_INT(buf_error(&a) | buf_error(&b) | buf_error(&c), 0);
}

int main(void)
{
	char remove[64];

	if (!mkdtemp(folder) || chdir(folder) < 0)
		return 1;
	TAP_CASE(test_launches);
	TAP_CASE(test_others);
	TAP_CASE(test_shared);
	TAP_CASE(test_at_once);
	TAP_CASE(test_ids);
	snprintf(remove, sizeof remove, "rm -rf %s", folder);
	return tap_done() + (system(remove) != 0);
}
