/* SPDX-License-Identifier: MIT */
#include "syscalls/siginfo.h"

#include <stdint.h>

#include "tap.h"

static void check_info(const siginfo_t *info, const char *want)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	syscall_put_siginfo(info, &text);
	CHECK_STR(text.data, want);
}

static void test_signals(void)
{
	siginfo_t info = { .si_signo = SIGUSR1, .si_code = SI_USER };

	info.si_pid = 12;
	info.si_uid = 34;
	check_info(&info, "SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER, si_pid=12, si_uid=34}");
	info = (siginfo_t){ .si_signo = SIGCHLD, .si_code = CLD_EXITED };
	info.si_pid = 12;
	info.si_status = 3;
	check_info(&info, "SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=12, si_uid=0, "
			  "si_status=3}");
	info.si_code = CLD_KILLED;
	info.si_status = SIGKILL;
	check_info(&info, "SIGCHLD {si_signo=SIGCHLD, si_code=CLD_KILLED, si_pid=12, si_uid=0, "
			  "si_status=SIGKILL}");
	info = (siginfo_t){ .si_signo = SIGSEGV, .si_code = SEGV_MAPERR };
	check_info(&info, "SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL}");
	info.si_addr = (void *)(uintptr_t)0x12; /* NOLINT */
	check_info(&info, "SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=0x12}");
	info = (siginfo_t){ .si_signo = SIGALRM, .si_code = SI_KERNEL };
	check_info(&info, "SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL}");
	info = (siginfo_t){ .si_signo = 99, .si_code = 77 };
	check_info(&info, "99 {si_signo=99, si_code=77}");
}

static void test_ends(void)
{
	static const struct {
		int status;
		const char *want;
	} rows[] = {
		{ 0, "exited with 0" },
		{ 3 << 8, "exited with 3" },
		{ SIGKILL, "killed by SIGKILL" },
		{ SIGSEGV | 0x80, "killed by SIGSEGV (core dumped)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf text = { 0 };

		syscall_put_exit(rows[i].status, &text);
		CHECK_STR(text.data, rows[i].want);
	}
}

int main(void)
{
	TAP_CASE(test_signals);
	TAP_CASE(test_ends);
	return tap_done();
}
