/* SPDX-License-Identifier: MIT */
#include "syscalls/decode.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "syscalls/names.h"
#include "tap.h"

#define NOBODY 0x7ffffffe /* no process has this number */

static void check_call(const struct syscall *c, const char *args, const char *result)
{
	struct syscall_files files = { .strings = strtab_new() };
	CLEANUP(buf_fini) struct buf a = { 0 };
	CLEANUP(buf_fini) struct buf r = { 0 };

	if (!CHECK(files.strings != NULL))
		return;
	strtab_intern(files.strings, "", 0);
	syscall_decode_args(c, &files, &a);
	syscall_decode_result(c, &files, &r);
	CHECK_STR(a.data, args);
	CHECK_STR(r.data, result);
	syscall_files_fini(&files);
	strtab_free(files.strings);
}

static void check_ended(struct syscall c, const char *args, const char *result)
{
	c.pid = NOBODY;
	c.has_start = c.has_end = true;
	check_call(&c, args, result);
}

static void test_words(void)
{
	static const struct {
		struct syscall call;
		const char *args, *result;
	} rows[] = {
		{ { .nr = SYS_lseek, .args = { 3, (uint64_t)-5, SEEK_CUR }, .ret = 7 },
		  "3, -5, SEEK_CUR",
		  "7" },
		{ { .nr = SYS_close, .args = { (uint64_t)-1 }, .ret = -EBADF },
		  "-1",
		  "-1 EBADF (Bad file descriptor)" },
		{ { .nr = SYS_mmap,
		    .args = { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			      (uint32_t)-1, 0 },
		    .ret = 0x7f0000000000 },
		  "NULL, 4096, PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0",
		  "0x7f0000000000" },
		{ { .nr = SYS_mprotect, .args = { 0x1000, 1, PROT_NONE } },
		  "0x1000, 1, PROT_NONE",
		  "0" },
		{ { .nr = SYS_pipe2, .args = { 0, O_CLOEXEC } }, "NULL, O_CLOEXEC", "0" },
		{ { .nr = SYS_clone, .args = { CLONE_VM | SIGCHLD } },
		  "SIGCHLD|CLONE_VM, NULL, NULL, NULL, NULL",
		  "0" },
		{ { .nr = SYS_kill, .args = { 12, SIGTERM } }, "12, SIGTERM", "0" },
		{ { .nr = SYS_fcntl, .args = { 4, F_SETFD, FD_CLOEXEC } },
		  "4, F_SETFD, FD_CLOEXEC",
		  "0" },
		{ { .nr = SYS_fcntl, .args = { 4, F_GETFL, 99 }, .ret = 2 },
		  "4, F_GETFL",
		  "O_RDWR" },
		{ { .nr = SYS_socket,
		    .args = { AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0 },
		    .ret = 5 },
		  "AF_INET, SOCK_STREAM|SOCK_CLOEXEC, 0",
		  "5" },
		{ { .nr = SYS_nanosleep, .args = { 0, 0 }, .ret = -516 },
		  "NULL, NULL",
		  "-1 ERESTART_RESTARTBLOCK (interrupted)" },
		{ { .nr = SYSCALL_NAMES - 1, .args = { 1, 2 } },
		  "0x1, 0x2, 0x0, 0x0, 0x0, 0x0",
		  "0" },
		{ { .nr = SYS_futex, .args = { 16, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 2, 3, 4 } },
		  "0x10, FUTEX_WAKE|FUTEX_PRIVATE_FLAG, 1",
		  "0" },
		{ { .nr = SYS_umask, .args = { 022 }, .ret = 077 }, "0022", "0077" },
		{ { .nr = SYS_getpid, .ret = 3 }, NULL, "3" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_ended(rows[i].call, rows[i].args, rows[i].result);
}

static void test_memory(void)
{
	const struct timespec t = { 1, 5000000 };
	const struct sockaddr_in in = { .sin_family = AF_INET,
					.sin_port = htons(80),
					.sin_addr.s_addr = htonl(0x7f000001) };
	const struct {
		struct syscall call;
		const char *args;
	} rows[] = {
		{ { .nr = SYS_openat,
		    .args = { (uint64_t)AT_FDCWD, 1, O_WRONLY | O_CREAT | O_TRUNC, 0644 },
		    .memory = { { .arg = 1, .len = 4, .bytes = "/a\n\"" } },
		    .memory_count = 1 },
		  "AT_FDCWD, \"/a\\n\\\"\", O_WRONLY|O_CREAT|O_TRUNC, 0644" },
		{ { .nr = SYS_openat,
		    .args = { (uint64_t)AT_FDCWD, 1, O_RDONLY, 0644 },
		    .memory = { { .arg = 1, .is_cut = true, .len = 1, .bytes = "a" } },
		    .memory_count = 1 },
		  "AT_FDCWD, \"a\"..., O_RDONLY" },
		{ { .nr = SYS_clock_nanosleep,
		    .args = { CLOCK_MONOTONIC, 0, 1, 0 },
		    .memory = { { .arg = 2, .len = sizeof t, .bytes = (const char *)&t } },
		    .memory_count = 1 },
		  "CLOCK_MONOTONIC, 0, {1.005000000 s}, NULL" },
		{ { .nr = SYS_connect,
		    .args = { 3, 1, sizeof in },
		    .memory = { { .arg = 1, .len = sizeof in, .bytes = (const char *)&in } },
		    .memory_count = 1 },
		  "3, {AF_INET, 127.0.0.1:80}, 16" },
		{ { .nr = SYS_connect,
		    .args = { 3, 1, 1 },
		    .memory = { { .arg = 1, .len = 1, .bytes = "x" } },
		    .memory_count = 1 },
		  "3, 0x1, 1" },
		{ { .nr = SYS_write,
		    .args = { 1, 1, 3 },
		    .memory = { { .arg = 1,
				  .len = 3,
				  .bytes = "\0"
					   "7z" } },
		    .memory_count = 1 },
		  "1, \"\\0007z\", 3" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_ended(rows[i].call, rows[i].args, "0");
}

static void test_linked_memory(void)
{
	const uint32_t count = 3;
	const struct syscall_iovec vectors[2] = { { 2, 2, "ab" }, { 0 } };
	const uint64_t action[4] = { 1, SA_RESTART, 0, 3 };
	const struct {
		struct syscall call;
		const char *args;
	} rows[] = {
		{ { .nr = SYS_execve,
		    .args = { 1, 1, 0x10 },
		    .memory = { { .arg = 0, .len = 2, .bytes = "/a" },
				{ .arg = 1, .len = 6, .bytes = "a\0b c" },
				{ .arg = 2, .len = 4, .bytes = (const char *)&count } },
		    .memory_count = 3 },
		  "\"/a\", [\"a\", \"b c\"], 0x10 /* 3 vars */" },
		{ { .nr = SYS_execve,
		    .args = { 1, 1, 0 },
		    .memory = { { .arg = 1, .is_cut = true, .len = 2, .bytes = "a" } },
		    .memory_count = 1 },
		  "0x1, [\"a\", ...], NULL" },
		{ { .nr = SYS_writev,
		    .args = { 1, 1, 2 },
		    .memory = { { .arg = 1,
				  .is_cut = true,
				  .len = sizeof vectors,
				  .bytes = (const char *)vectors } },
		    .memory_count = 1 },
		  "1, [{\"ab\", 2}, {\"\", 0}, ...], 2" },
		{ { .nr = SYS_rt_sigaction,
		    .args = { SIGUSR1, 1, 0, 8 },
		    .memory = { { .arg = 1, .len = sizeof action, .bytes = (const char *)action } },
		    .memory_count = 1 },
		  "SIGUSR1, {SIG_IGN, [SIGHUP SIGINT], SA_RESTART}, NULL, 8" },
		{ { .nr = SYS_setsockopt,
		    .args = { 3, SOL_SOCKET, SO_REUSEADDR, 1, 4 },
		    .memory = { { .arg = 3, .len = 4, .bytes = (const char *)&count } },
		    .memory_count = 1 },
		  "3, SOL_SOCKET, SO_REUSEADDR, [3], 4" },
		{ { .nr = SYS_pselect6,
		    .args = { 5, 1, 0, 0, 0, 0 },
		    .memory = { { .arg = 1, .len = 1, .bytes = "\x71" } },
		    .memory_count = 1 },
		  "5, [0 4], NULL, NULL, NULL, NULL" },
		{ { .nr = SYS_getcwd,
		    .args = { 1, 9 },
		    .ret = 3,
		    .memory = { { .arg = 0, .len = 3, .bytes = "/a" } },
		    .memory_count = 1 },
		  "\"/a\", 9" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_ended(rows[i].call, rows[i].args, rows[i].call.ret ? "3" : "0");
}

/* What an argument is, another one tells. */
static void test_operations(void)
{
	const struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 5, .l_len = 7
	};
	const struct {
		struct syscall call;
		const char *args;
	} rows[] = {
		{ { .nr = SYS_fcntl,
		    .args = { 3, F_SETLK, 0x10 },
		    .memory = { { .arg = 2, .len = sizeof lock, .bytes = (const char *)&lock } },
		    .memory_count = 1 },
		  "3, F_SETLK, {F_WRLCK, SEEK_CUR, 5, 7}" },
		{ { .nr = SYS_prctl,
		    .args = { PR_SET_NAME, 0x10 },
		    .memory = { { .arg = 1, .len = 3, .bytes = "abc" } },
		    .memory_count = 1 },
		  "PR_SET_NAME, \"abc\", 0, 0, 0" },
		{ { .nr = SYS_prctl,
		    .args = { PR_SET_DUMPABLE, 1 },
		    .memory = { { .arg = 1, .len = 3, .bytes = "abc" } },
		    .memory_count = 1 },
		  "PR_SET_DUMPABLE, 0x1, 0, 0, 0" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_ended(rows[i].call, rows[i].args, "0");
}

/* What is missing is not made up. */
static void test_parts(void)
{
	const struct syscall no_start = {
		.pid = NOBODY, .nr = SYS_read, .has_end = true, .ret = 5
	};
	const struct syscall no_end = {
		.pid = NOBODY, .nr = SYS_read, .has_start = true, .args = { 3, 16, 5 }
	};

	check_call(&no_start, "...", "5");
	check_call(&no_end, "3, 0x10, 5", "?");
}

static void test_paths_follow_their_process(void)
{
	struct syscall_files files = { .strings = strtab_new() };
	struct syscall c = {
		.pid = NOBODY,
		.nr = SYS_openat,
		.has_start = true,
		.has_end = true,
		.args = { (uint64_t)AT_FDCWD, 1, O_RDONLY },
		.ret = 3,
		.memory = { { .arg = 1, .len = 5, .bytes = "/some" } },
		.memory_count = 1,
	};
	uint32_t name;

	strtab_intern(files.strings, "", 0);
	syscall_files_apply(&files, &c);
	name = syscall_files_fd(&files, NOBODY, 3);
	CHECK_STR(strtab_get(files.strings, name).ptr, "/some");
	name = syscall_files_path(&files, NOBODY, 3, "./x", 3);
	CHECK_STR(strtab_get(files.strings, name).ptr, "/some/x");
	syscall_files_fork(&files, NOBODY - 1, NOBODY);
	syscall_files_apply(&files, &(struct syscall){ .pid = NOBODY - 1,
						       .nr = SYS_dup,
						       .has_start = true,
						       .has_end = true,
						       .args = { 3 },
						       .ret = 4 });
	name = syscall_files_fd(&files, NOBODY - 1, 4);
	CHECK_STR(strtab_get(files.strings, name).ptr, "/some");
	syscall_files_apply(&files, &(struct syscall){ .pid = NOBODY,
						       .nr = SYS_close,
						       .has_start = true,
						       .has_end = true,
						       .args = { 3 } });
	CHECK_INT(syscall_files_fd(&files, NOBODY, 3), 0);
	syscall_files_exit(&files, NOBODY - 1);
	CHECK_INT(syscall_files_fd(&files, NOBODY - 1, 4), 0);
	syscall_files_fini(&files);
	strtab_free(files.strings);
}

int main(void)
{
	TAP_CASE(test_words);
	TAP_CASE(test_memory);
	TAP_CASE(test_linked_memory);
	TAP_CASE(test_operations);
	TAP_CASE(test_parts);
	TAP_CASE(test_paths_follow_their_process);
	return tap_done();
}
