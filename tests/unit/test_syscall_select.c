/* SPDX-License-Identifier: MIT */
#include "syscalls/select.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "tap.h"

static void test_all(void)
{
	const struct syscall_selection s = { 0 };

	CHECK(syscall_is_selected(&s, SYS_read, 0, -1));
	CHECK(syscall_is_selected(&s, SYSCALL_NAMES + 7, 5, 1));
}

static void test_names(void)
{
	struct syscall_selection s = { 0 };
	struct err e;

	CHECK_INT(syscall_select(&s, "openat,read", &e), 0);
	CHECK_INT(syscall_select(&s, "trace=%network", &e), 0);
	CHECK(syscall_is_selected_name(&s, SYS_openat) && syscall_is_selected_name(&s, SYS_read));
	CHECK(syscall_is_selected_name(&s, SYS_recvmsg) &&
	      syscall_is_selected_name(&s, SYS_socket));
	CHECK(!syscall_is_selected_name(&s, SYS_write));
	CHECK(!syscall_is_selected_name(&s, SYSCALL_NAMES + 7));
#ifdef __x86_64__
	CHECK(syscall_is_selected_name(&s, 3 | SYSCALL_32BIT)); /* read of i386 */
	CHECK(!syscall_is_selected_name(&s, SYS_read | SYSCALL_32BIT));
#endif
}

static void test_classes(void)
{
	static const struct {
		const char *class;
		uint32_t in, out;
	} cases[] = {
		{ "%file", SYS_openat, SYS_read },         { "%desc", SYS_read, SYS_brk },
		{ "%file", SYS_getcwd, SYS_fchdir },       { "%desc", SYS_openat, SYS_chdir },
		{ "%process", SYS_wait4, SYS_read },       { "%memory", SYS_mmap, SYS_read },
		{ "%signal", SYS_rt_sigaction, SYS_read }, { "%ipc", SYS_shmget, SYS_read },
	};
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct syscall_selection s = { 0 };

		CHECK_INT(syscall_select(&s, cases[i].class, &e), 0);
		CHECK(syscall_is_selected_name(&s, cases[i].in));
		CHECK(!syscall_is_selected_name(&s, cases[i].out));
	}
}

static void test_others(void)
{
	struct syscall_selection s = { 0 };
	struct err e;

	CHECK_INT(syscall_select(&s, "!read,%file", &e), 0);
	CHECK(syscall_is_selected_name(&s, SYS_write));
	CHECK(!syscall_is_selected_name(&s, SYS_read) && !syscall_is_selected_name(&s, SYS_openat));
}

static void test_outcomes(void)
{
	struct syscall_selection s = { .is_failed = true };

	CHECK(syscall_is_selected(&s, SYS_read, 2, -1) && !syscall_is_selected(&s, SYS_read, 0, 9));
	s = (struct syscall_selection){ .longer_ns = 1000 };
	CHECK(syscall_is_selected(&s, SYS_read, 0, 1001));
	CHECK(!syscall_is_selected(&s, SYS_read, 0, 1000));
	CHECK(!syscall_is_selected(&s, SYS_read, 0, -1));
}

static void test_refused(void)
{
	static const char *const words[] = {
		"",
		"!",
		"trace=",
		"opneat",
		"%all",
		"read,",
		",",
		"read,,write",
		"a-name-that-is-longer-than-any-other-name-of-a-system-call-here"
	};
	struct syscall_selection s = { 0 };
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		CHECK_INT(syscall_select(&s, words[i], &e),
			  strcmp(words[i], "read,") == 0 ? 0 : -EINVAL);
	CHECK_INT(syscall_select(&s, "opneat", &e), -EINVAL);
	CHECK(strstr(e.msg, "did you mean 'openat'"));
}

int main(void)
{
	TAP_CASE(test_all);
	TAP_CASE(test_names);
	TAP_CASE(test_classes);
	TAP_CASE(test_others);
	TAP_CASE(test_outcomes);
	TAP_CASE(test_refused);
	return tap_done();
}
