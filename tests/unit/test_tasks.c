/* SPDX-License-Identifier: MIT */
#include "perf/tasks.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

static struct thread *get(struct tasks *t, uint32_t pid, uint32_t tid)
{
	bool is_new;
	uint32_t i = tasks_get(t, pid, tid, &is_new);

	CHECK(i != TASKS_NONE);
	return tasks_thread(t, i);
}

static const char *comm(struct tasks *t, uint32_t pid, uint32_t tid)
{
	return get(t, pid, tid)->comm;
}

static struct maps *maps(struct tasks *t, uint32_t pid, uint32_t tid)
{
	return tasks_process(t, get(t, pid, tid)->process)->maps;
}

static void name(struct tasks *t, uint32_t pid, uint32_t tid, const char *text)
{
	CHECK_INT(tasks_name(t, pid, tid, text, strlen(text)), 0);
}

static void map(struct tasks *t, uint32_t pid, uint64_t start)
{
	struct vma v = { .start = start, .end = start + 10, .dso = 1 };

	CHECK_INT(tasks_map(t, pid, pid, &v), 0);
}

static void test_unknown(void)
{
	struct tasks *t = tasks_new();
	bool is_new;

	tasks_get(t, 5, 6, &is_new);
	CHECK(is_new);
	tasks_get(t, 5, 7, &is_new);
	CHECK(!is_new);
	CHECK_STR(comm(t, 5, 6), "");
	CHECK_INT(tasks_count(t), 2);
	CHECK_INT(get(t, 5, 6)->process, get(t, 5, 7)->process);
	CHECK_STR(comm(t, 0, 0), "swapper");
	tasks_free(t);
}

static void test_fork(void)
{
	struct tasks *t = tasks_new();

	name(t, 1, 1, "init");
	map(t, 1, 100);
	CHECK_INT(tasks_fork(t, 1, 2, 1, 1), 0); /* thread */
	CHECK_STR(comm(t, 1, 2), "init");
	CHECK(maps(t, 1, 2) == maps(t, 1, 1));
	name(t, 1, 2, "worker");
	CHECK_INT(tasks_fork(t, 3, 3, 1, 2), 0); /* process, by that thread */
	CHECK_STR(comm(t, 3, 3), "worker");
	CHECK(maps(t, 3, 3) == maps(t, 1, 1)); /* shared */
	map(t, 3, 200);
	CHECK(maps_find(maps(t, 3, 3), 200) != NULL);
	CHECK(maps_find(maps(t, 3, 3), 100) != NULL);
	CHECK(maps_find(maps(t, 1, 1), 200) == NULL);
	CHECK_STR(comm(t, 1, 1), "init");
	tasks_free(t);
}

#if !__GLIBC_PREREQ(2, 33)
#define mallinfo2 mallinfo
#endif

static void test_names_do_not_pile_up(void)
{
	struct tasks *t = tasks_new();
	char text[16];
	size_t before;

	name(t, 1, 1, "init");
	before = (size_t)mallinfo2().uordblks;
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(text, sizeof text, "n%u", i);
		name(t, 1, 1, text);
	}
	CHECK_STR(comm(t, 1, 1), "n99999");
	CHECK((size_t)mallinfo2().uordblks < before + 4096);
	tasks_free(t);
}

static void test_long_names_are_cut(void)
{
	struct tasks *t = tasks_new();
	char text[100] = "";

	memset(text, 'x', sizeof text - 1);
	name(t, 1, 1, text);
	CHECK_INT(strlen(comm(t, 1, 1)), TASKS_COMM_BYTES - 1);
	tasks_free(t);
}

static void test_exec(void)
{
	struct tasks *t = tasks_new();

	name(t, 1, 1, "sh");
	map(t, 1, 100);
	CHECK_INT(tasks_fork(t, 1, 2, 1, 1), 0);
	get(t, 1, 1)->labels = 7;
	name(t, 1, 1, "ls");
	CHECK_INT(get(t, 1, 1)->labels, 0);
	CHECK_INT(tasks_exec(t, 1, 1), 0);
	CHECK(maps_find(maps(t, 1, 1), 100) == NULL);
	CHECK_INT(tasks_count(t), 1); /* the other thread died by it */
	tasks_free(t);
}

/* A thread that is not the first executes a program and takes over the id of the first, which
 * has ended. */
static void test_exec_by_thread(void)
{
	struct tasks *t = tasks_new();

	name(t, 1, 1, "java");
	CHECK_INT(tasks_fork(t, 1, 2, 1, 1), 0);
	tasks_exit(t, 1);
	name(t, 1, 1, "sh");
	CHECK_INT(tasks_exec(t, 1, 1), 0);
	for (uint32_t i = 100; i < 1100; i++) {
		CHECK_INT(tasks_fork(t, i, i, 1, 1), 0);
		tasks_exit(t, i);
	}
	CHECK_STR(comm(t, 1, 1), "sh");
	tasks_free(t);
}

/* Ids that come and go leave nothing behind; the last ones are kept for late samples. */
static void test_exit(void)
{
	struct tasks *t = tasks_new();

	name(t, 1, 1, "make");
	map(t, 1, 100);
	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t pid = 2 + i % 30000;

		CHECK_INT(tasks_fork(t, pid, pid, 1, 1), 0);
		if (i % 3 == 0)
			name(t, pid, pid, "cc1");
		tasks_exit(t, pid);
		tasks_exit(t, pid); /* twice is once */
	}
	CHECK(tasks_count(t) < 1000);
	CHECK_STR(comm(t, 2 + 99999 % 30000, 2 + 99999 % 30000), "cc1");
	CHECK_STR(comm(t, 1, 1), "make");
	tasks_free(t);
}

/* Ends that were lost: ids are used again by others. */
static void test_reuse(void)
{
	struct tasks *t = tasks_new();

	name(t, 10, 10, "a");
	name(t, 10, 11, "b");
	map(t, 10, 100);
	CHECK_INT(tasks_fork(t, 11, 11, 10, 10), 0); /* was a thread, is a process */
	CHECK_STR(comm(t, 11, 11), "a");
	CHECK_INT(get(t, 11, 11)->pid, 11);
	CHECK_INT(tasks_fork(t, 10, 10, 11, 11), 0); /* was its parent */
	CHECK_STR(comm(t, 10, 10), "a");
	CHECK(maps_find(maps(t, 10, 10), 105) != NULL);
	CHECK_INT(tasks_fork(t, 10, 10, 10, 10), 0); /* its own parent: refused */
	CHECK_INT(tasks_count(t), 2);
	tasks_free(t);
}

int main(void)
{
	TAP_CASE(test_unknown);
	TAP_CASE(test_fork);
	TAP_CASE(test_names_do_not_pile_up);
	TAP_CASE(test_long_names_are_cut);
	TAP_CASE(test_exec);
	TAP_CASE(test_exec_by_thread);
	TAP_CASE(test_exit);
	TAP_CASE(test_reuse);
	return tap_done();
}
